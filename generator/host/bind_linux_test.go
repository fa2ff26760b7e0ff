package host

import (
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// All threads of the process are bound, those to come as well, and a thread that
// is bound apart hands its CPUs on to the processes that it starts.
func TestBind(t *testing.T) {
	all, err := Allowed()
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 2 {
		t.Skip("there is one CPU only")
	}
	t.Cleanup(func() {
		if err := Bind(all); err != nil {
			t.Error(err)
		}
	})
	if err := Bind(all[1:]); err != nil {
		t.Fatal(err)
	}
	if got, err := Allowed(); err != nil || !slices.Equal(got, all[1:]) {
		t.Errorf("allowed %v, %v; want %v", got, err, all[1:])
	}
	started := make(chan string)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread ends with its binding
		if err := BindThread(all[:1]); err != nil {
			started <- err.Error()
			return
		}
		out, err := exec.Command("grep", "Cpus_allowed_list", "/proc/self/status").Output()
		if err != nil {
			started <- err.Error()
			return
		}
		started <- string(out)
	}()
	if got := strings.Fields(<-started); len(got) != 2 || got[1] != all[:1].String() {
		t.Errorf("a process started by a thread on %v runs on %q", all[:1], got)
	}
	if got, err := Allowed(); err != nil || !slices.Equal(got, all[1:]) {
		t.Errorf("after that, allowed %v, %v; want %v", got, err, all[1:])
	}
}

func TestBindRefusesCPUsThatAreNotThere(t *testing.T) {
	if err := Bind(CPUs{1023}); err == nil || !strings.Contains(err.Error(), "1023") {
		t.Errorf("%v: want an error that names the CPU", err)
	}
}
