package cli

import (
	"context"
	"runtime"
	"testing"
	"time"

	"knee/generator/plan"
	"knee/generator/record"
	"knee/generator/virtual"
	"knee/profiles"
)

// Memory does not grow with the length of a run, apart from the counter windows:
// ten minutes at 2,000/s hold at most 10 MB more than one minute.
func TestALongRunHoldsNoMoreThanAShortOne(t *testing.T) {
	short, long := heapAfter(t, time.Minute), heapAfter(t, 10*time.Minute)
	if more := int64(long) - int64(short); more > 10<<20 {
		t.Errorf("heap after 10 min is %d bytes above that after 1 min, want at most 10 MB", more)
	}
}

// heapAfter returns the size of the heap after a run of that length, with
// everything that the run keeps still alive.
func heapAfter(t *testing.T, length time.Duration) uint64 {
	t.Helper()
	p, err := profiles.Load("default", profiles.Overrides{})
	if err != nil {
		t.Fatal(err)
	}
	series, recorder := newRecords(p)
	server, err := p.Server()
	if err != nil {
		t.Fatal(err)
	}
	d, err := virtual.New(virtual.Options{Server: server, Client: p.ClientOptions(), Recorder: recorder})
	if err != nil {
		t.Fatal(err)
	}
	spec, err := p.PlanSpec(p.Capacity())
	if err != nil {
		t.Fatal(err)
	}
	spec.Phases = []plan.Phase{{Kind: plan.Hold, Rate: 2000, For: length}}
	load, err := plan.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Run(context.Background(), 0, load); err != nil {
		t.Fatal(err)
	}
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	if got, want := series.Total().Planned, load.Count(); got != want {
		t.Errorf("%d arrivals, want %d", got, want)
	}
	if got, want := len(series.ByEnding()), int(length/record.Window); got < want {
		t.Errorf("%d windows, want at least %d", got, want)
	}
	runtime.KeepAlive(d)
	return m.HeapAlloc
}
