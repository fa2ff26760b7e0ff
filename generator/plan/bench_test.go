package plan

import (
	"testing"
	"time"
)

func poissonWithWork() Spec {
	s := one(hold(10000, MaxDuration))
	s.Arrivals, s.Clients, s.Classes, s.Work = Poisson, 50, classes(3, 1), expWork{1e6}
	return s
}

func TestNextDoesNotAllocate(t *testing.T) {
	jittered := one(ramp(0, 1e6, time.Hour), hold(1, time.Hour))
	jittered.Jitter, jittered.Work = true, fixedWork(1000)
	burst := bursty(Burst{On: time.Millisecond, Off: time.Millisecond}, hold(10000, MaxDuration))
	flows := poissonWithWork()
	flows.Classes[1].Phases, flows.Classes[1].Work = []Phase{hold(5000, time.Hour)}, fixedWork(1)
	list := replay(Replay{Offsets: make([]time.Duration, 2000)})
	for name, s := range map[string]Spec{
		"poisson": poissonWithWork(), "constant": jittered, "bursty": burst, "two flows": flows, "replay": list,
	} {
		c := mustNew(t, s).Take(Share{0, 1}).Cursor(0)
		if got := testing.AllocsPerRun(1000, func() { c.Next() }); got != 0 {
			t.Errorf("%s: %v allocations per arrival, want 0", name, got)
		}
	}
}

func BenchmarkNext(b *testing.B) {
	plain := poissonWithWork()
	plain.Clients, plain.Classes = 1, classes(1)
	ramped := poissonWithWork()
	ramped.Phases = []Phase{ramp(100000, 0.1, MaxDuration)}
	constant := one(hold(10000, MaxDuration))
	constant.Jitter, constant.Work = true, fixedWork(1000)
	burst := poissonWithWork()
	burst.Arrivals, burst.Burst = Bursty, Burst{On: 10 * time.Millisecond, Off: 40 * time.Millisecond}
	flows := poissonWithWork()
	flows.Classes[1].Phases = []Phase{hold(5000, MaxDuration)}
	for _, c := range []struct {
		name string
		spec Spec
	}{
		{"poisson", plain},
		{"poisson, two classes, 50 clients", poissonWithWork()},
		{"poisson ramp", ramped},
		{"constant with jitter", constant},
		{"bursty", burst},
		{"two flows", flows},
	} {
		b.Run(c.name, func(b *testing.B) {
			cursor := mustNew(b, c.spec).Cursor(0)
			b.ReportAllocs()
			for b.Loop() {
				if _, ok := cursor.Next(); !ok {
					b.Fatal("plan too short")
				}
			}
		})
	}
}

func BenchmarkCount(b *testing.B) {
	s := one(hold(1e6, time.Second))
	s.Arrivals = Poisson
	p := mustNew(b, s)
	for b.Loop() {
		p.Count()
	}
}
