package host

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

func TestProcessCPU(t *testing.T) {
	before, err := ProcessCPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	own := CPUTime()
	for CPUTime() < own+20*time.Millisecond { // burn
	}
	after, err := ProcessCPU(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if used := after - before; used < 15*time.Millisecond {
		t.Errorf("the process burned 20 ms, and its clock went on by %v", used)
	}
	for _, pid := range []int{0, -1, 1 << 30} {
		if _, err := ProcessCPU(pid); err == nil {
			t.Errorf("process %d: no error", pid)
		}
	}
}

func TestProcessCPUOfAnother(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Skipf("no sleep to look at: %v", err)
	}
	used, err := ProcessCPU(cmd.Process.Pid)
	if err != nil || used < 0 || used > 30*time.Second {
		t.Errorf("one that sleeps used %v, %v", used, err)
	}
	cmd.Process.Kill()
	cmd.Wait()
	if _, err := ProcessCPU(cmd.Process.Pid); err == nil {
		t.Error("one that has ended has a clock")
	}
}

func TestGroupCPU(t *testing.T) {
	write := func(name, text string) string {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	for _, c := range []struct {
		name, text string
		want       time.Duration
	}{
		{"cpu.stat", "usage_usec 1234567\nuser_usec 1000000\nsystem_usec 234567\n", 1234567 * time.Microsecond},
		{"cpuacct.usage", "987654321\n", 987654321 * time.Nanosecond},
		{"cpu.stat", "usage_usec lots\n", -1},
		{"cpuacct.usage", "lots\n", -1},
		{"cpu.stat", "nr_periods 0\n", -1}, // of version 1: there is no usage in it
		{"other", "", -1},
	} {
		got, err := GroupCPU(write(c.name, c.text))
		if (err != nil) != (c.want < 0) || err == nil && got != c.want {
			t.Errorf("%s %q: %v, %v; want %v", c.name, c.text, got, err, c.want)
		}
	}
}
