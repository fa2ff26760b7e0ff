package host

import (
	"os"
	"runtime"
	"testing"
	"time"
)

func TestBusiest(t *testing.T) {
	const s = time.Second
	for name, c := range map[string]struct {
		before, after map[int]threadTimes
		ran, waited   time.Duration
	}{
		"nothing known":      {nil, nil, 0, 0},
		"the one that waits": {map[int]threadTimes{1: {9 * s, 0}, 2: {s, s}}, map[int]threadTimes{1: {10 * s, 0}, 2: {s, 3 * s}}, 0, 2 * s},
		"a new one":          {map[int]threadTimes{1: {s, 0}}, map[int]threadTimes{1: {2 * s, 0}, 2: {3 * s, s}}, 3 * s, s},
		"one that ended":     {map[int]threadTimes{1: {s, 0}, 2: {9 * s, 0}}, map[int]threadTimes{1: {2 * s, 0}}, s, 0},
		"a number used anew": {map[int]threadTimes{1: {9 * s, 9 * s}}, map[int]threadTimes{1: {2 * s, s}}, 2 * s, s},
	} {
		if ran, waited := busiest(c.before, c.after); ran != c.ran || waited != c.waited {
			t.Errorf("%s: ran %v, waited %v; want %v, %v", name, ran, waited, c.ran, c.waited)
		}
	}
}

// A meter counts from its last reading, not from the start.
func TestMeter(t *testing.T) {
	if CPUTime() == 0 {
		t.Skip("this platform does not tell")
	}
	const work = 30 * time.Millisecond
	m := NewMeter()
	for from := CPUTime(); CPUTime()-from < work; {
	}
	if u := m.Read(); u.CPU < work {
		t.Errorf("%v of CPU after %v of work", u.CPU, work)
	}
	before := CPUTime()
	if u := m.Read(); u.CPU >= before {
		t.Errorf("%v of CPU: want what came since the last reading, of %v", u.CPU, before)
	}
}

func TestWhatLinuxTells(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("linux alone tells all of this")
	}
	before := OpenDescriptors()
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	if n := OpenDescriptors(); n != before+1 {
		t.Errorf("%d descriptors, and after one was opened %d", before, n)
	}
	f.Close()
	if n := NewMeter().Resident(); n < 1<<20 || MemoryLimit() < n {
		t.Errorf("%d bytes of %d", n, MemoryLimit())
	}
	if Ports() < 1 {
		t.Errorf("%d ports", Ports())
	}
}
