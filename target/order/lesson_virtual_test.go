package order_test

import (
	"context"
	"math"
	"testing"

	"knee/generator/plan"
	"knee/generator/record"
	"knee/generator/virtual"
	"knee/profiles"
)

// lessonInVirtualTime runs the embedded profile of the lesson and returns what the
// lesson prints of its own run: how many were good in each tick of its four phases.
func lessonInVirtualTime(t *testing.T, o profiles.Overrides) [4]float64 {
	t.Helper()
	p, err := profiles.Load("overload-lesson", o)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := p.Server()
	if err != nil {
		t.Fatal(err)
	}
	arrivals, err := p.PlanSpec(p.Capacity())
	if err != nil {
		t.Fatal(err)
	}
	load, err := plan.New(arrivals)
	if err != nil {
		t.Fatal(err)
	}
	series := record.NewSeries([]string{"default"})
	recorder := record.NewRecorder(record.RecorderOptions{
		Classes: []string{"default"}, MaxLatency: 1 << 40,
		Sink: func(d *record.Delta) { series.Add(d); d.Release() },
	})
	d, err := virtual.New(virtual.Options{Server: spec, Client: p.ClientOptions(), Recorder: recorder})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Run(context.Background(), 0, load); err != nil {
		t.Fatal(err)
	}
	windows := int(record.Window / lessonTick)
	var x [4]float64
	for i, phase := range lessonPhases {
		for _, c := range series.ByEnding()[phase.from/windows : phase.to/windows] {
			x[i] += float64(c.Good) / float64(phase.to-phase.from)
		}
	}
	return x
}

// TestLessonInVirtualTime: what the model in ticks shows is not owed to its
// simplicity. With work that takes time, arrivals at any instant and knee's own
// clients, the same orders and protections come to the same figures, with other
// arrivals of the same rates.
//
// One thing is owed to it: as work takes no time in the model, a look at the
// deadline is enough there. Here it has to leave time for the work.
func TestLessonInVirtualTime(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change profiles.Overrides
		want   [4]float64 // the model's
		off    [4]float64 // by how much it may differ
	}{
		{"unbounded FIFO", profiles.Overrides{}, [4]float64{80.4, 24.5, 0, 0}, [4]float64{4, 4, 0, 0}},
		{"deadline drop", profiles.Overrides{Protect: "deadline:allowance=1ms"}, [4]float64{80.4, 100, 89.9, 82}, [4]float64{4, 1, 9, 4}},
		{"deadline drop, allowance measured", profiles.Overrides{Protect: "deadline"}, [4]float64{80.4, 100, 89.9, 82}, [4]float64{4, 2, 9, 4}},
		{"adaptive LIFO", profiles.Overrides{Order: "adaptive_lifo:length=100,sweep=false"}, [4]float64{80.4, 100, 90, 82}, [4]float64{4, 1, 4, 4}},
		{"bounded + shed", profiles.Overrides{Protect: "queue_bound:count=250+deadline:allowance=1ms"}, [4]float64{80.4, 100, 83.6, 82}, [4]float64{4, 1, 7, 4}},
		{"unbounded FIFO, no retries", profiles.Overrides{Set: []string{"client.behaviours=[]"}}, [4]float64{80.4, 24.5, 0, 82}, [4]float64{4, 4, 0, 10}},
		{"deadline drop, no allowance", profiles.Overrides{Protect: "deadline:allowance=0s"}, [4]float64{80.4, 35, 50, 82}, [4]float64{4, 10, 15, 4}},
	} {
		got := lessonInVirtualTime(t, tt.change)
		for i, phase := range lessonPhases {
			if d := got[i] - tt.want[i]; math.Abs(d) > tt.off[i] {
				t.Errorf("%s, %s: %.1f good in a tick, want %.1f within %v", tt.name, phase.name, got[i], tt.want[i], tt.off[i])
			}
		}
	}
}
