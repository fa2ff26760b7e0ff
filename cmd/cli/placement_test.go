package cli

import (
	"context"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"knee/analysis"
	"knee/ci/verdict"
	"knee/generator/host"
)

// The generator and the built-in server get CPUs of their own for as long as the
// run lasts, and the generator always a second place for goroutines.
func TestPlace(t *testing.T) {
	if _, chosen := os.LookupEnv("GOMAXPROCS"); chosen {
		t.Skip("GOMAXPROCS is set, and is left alone")
	}
	all, err := host.Allowed()
	if err != nil {
		t.Fatal(err)
	}
	procs := runtime.GOMAXPROCS(0)
	for _, pin := range []string{pinOff, pinAuto} {
		p := place(pin, 1000, 1000)
		here, err := host.Allowed()
		if err != nil {
			t.Error(err)
		}
		if n := runtime.GOMAXPROCS(0); n < leastProcs {
			t.Errorf("%s: GOMAXPROCS %d, want at least %d", pin, n, leastProcs)
		}
		switch {
		case p.bound == nil:
			if !slices.Equal(here, all) || p.server != nil {
				t.Errorf("%s: on CPUs %v, the server on %v, and nothing was bound", pin, here, p.server)
			}
		case pin == pinOff:
			t.Errorf("off: bound to %+v", *p.bound)
		default:
			if p.bound.Generator != here.String() || p.bound.Server != p.server.String() || p.generators != len(here) {
				t.Errorf("on CPUs %v, the server on %v; said to be %+v", here, p.server, *p.bound)
			}
			for _, cpu := range p.server {
				if slices.Contains(here, cpu) || !slices.Contains(all, cpu) {
					t.Errorf("the server has CPU %d, of %v; the generator %v", cpu, all, here)
				}
			}
		}
		if pin == pinAuto && p.bound == nil && runtime.GOOS == "linux" && len(all) > 1 && host.Quota() == 0 {
			t.Errorf("auto: nothing was bound, though there are CPUs %v", all)
		}
		p.release()
		if here, err := host.Allowed(); err != nil || !slices.Equal(here, all) {
			t.Errorf("%s: afterwards on CPUs %v, %v; want %v", pin, here, err, all)
		}
		if n := runtime.GOMAXPROCS(0); n != procs {
			t.Errorf("%s: afterwards GOMAXPROCS %d, want %d", pin, n, procs)
		}
	}
}

// A load that is too much for the CPUs left to the server is not put on them.
func TestPlaceLeavesAServerWhatItNeeds(t *testing.T) {
	p := place(pinAuto, 1e9, 1000)
	defer p.release()
	if p.bound != nil {
		t.Errorf("bound to %+v for a thousand thousand times what a CPU can do", *p.bound)
	}
}

// A quota can allow less than the CPUs on which a process may run.
func TestUsable(t *testing.T) {
	half := 0.5
	for want, m := range map[float64]analysis.Machine{
		4:   {CPUs: 8, CPUsAllowed: 4},
		0.5: {CPUs: 8, CPUsAllowed: 4, CPUQuota: &half},
	} {
		if got := usable(m); got != want {
			t.Errorf("%+v: %v CPUs, want %v", m, got, want)
		}
	}
}

func TestPinRefuses(t *testing.T) {
	w, _, stderr := quietWorld("run", "default", "--pin", "0-3")
	if code := run(context.Background(), w); code != verdict.CodeUsage || !strings.Contains(stderr.String(), "--pin 0-3: want auto or off") {
		t.Errorf("exit code %d, %q", code, stderr)
	}
}
