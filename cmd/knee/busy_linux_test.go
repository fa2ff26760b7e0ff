package main

import (
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"

	"knee/generator/host"
)

// TestBusyCPU is redis/memtier_benchmark#471: a generator without CPU makes every
// server look slow. Here it shares one CPU with two loops that never rest, and is
// to offer more than a third of it can.
func TestBusyCPU(t *testing.T) {
	taskset, err := exec.LookPath("taskset")
	if err != nil {
		t.Skip("taskset is not installed")
	}
	t.Parallel()
	cpus, err := host.Allowed()
	if err != nil {
		t.Fatal(err)
	}
	cpu := host.CPUs(cpus[:1]).String()
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	t.Cleanup(server.Close)
	for range 2 {
		busy := exec.Command(taskset, "-c", cpu, "sh", "-c", "while :; do :; done")
		if err := busy.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = busy.Process.Kill()
			_ = busy.Wait() // killed
		})
	}
	dir := files(t, map[string]string{"p.yaml": "name: p\nclient: {timeout: 1s}\nload: {phases: [{kind: hold, rate: 60000/s, for: 1s}]}\n"})
	cmd := exec.Command(taskset, "-c", cpu, "knee", "run", "./p.yaml", "--url", server.URL, "--format", "json", "--quiet")
	cmd.Dir = dir
	out, _ := cmd.Output() // judged by what it says
	var r struct {
		Generator struct {
			Verdict  string
			Evidence []string
		}
		Steps []struct{ Valid bool }
	}
	strict(t, string(out), &r)
	if r.Generator.Verdict != "limited" || len(r.Steps) != 1 || r.Steps[0].Valid {
		t.Errorf("the generator is %q and %+v support claims: want limited, and none", r.Generator.Verdict, r.Steps)
	}
	if said := strings.Join(r.Generator.Evidence, "; "); !strings.Contains(said, "CPU") {
		t.Errorf("evidence %q says nothing of the CPU", said)
	}
}
