package live

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"knee/generator/plan"
)

// One plan follows another without a gap, and one that is cut ends with its
// window: what was due after that never comes.
func TestPlansFollowOneAnotherAndAreCut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := trip{url: "http://server", rate: 10, length: 2 * time.Second, options: inMemory(prompt(), Options{})}
		d, series, p := tr.start(t)
		defer d.Close()
		var asked []time.Duration
		next := func(now time.Duration) *plan.Plan {
			asked = append(asked, now)
			switch len(asked) {
			case 2:
				time.AfterFunc(1100*time.Millisecond, d.Cut)
				return p
			case 4:
				return nil
			}
			return p
		}
		if err := d.Perform(t.Context(), 3, 10, next); err != nil {
			t.Fatal(err)
		}
		start := asked[0]
		want := []time.Duration{start, start + 2*time.Second, start + 3200*time.Millisecond, start + 5200*time.Millisecond}
		if !slices.Equal(asked, want) {
			t.Errorf("asked for plans at %v, want %v", asked, want)
		}
		steps := series.Steps()
		if len(steps) != 3 {
			t.Fatalf("%d steps, want 3", len(steps))
		}
		for i, good := range []uint64{20, 12, 20} {
			s := steps[i]
			if s.Info.Start != want[i] || s.Info.Start+s.Info.Duration != want[i+1] || s.Info.Trial != 3 {
				t.Errorf("step %d is %+v, want it from %v to %v", i, s.Info, want[i], want[i+1])
			}
			if s.Total.Planned != good || s.Total.Good != good || s.Lag.Max != 0 {
				t.Errorf("step %d: %d of %d are good, the lag is up to %v: want all of %d, and none", i, s.Total.Good, s.Total.Planned, s.Lag.Max, good)
			}
		}
	})
}

// A cut between loads does not end the next one.
func TestACutBetweenLoadsDoesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := trip{url: "http://server", rate: 10, length: time.Second, options: inMemory(prompt(), Options{})}
		d, series, p := tr.start(t)
		defer d.Close()
		d.Cut()
		if err := d.Run(t.Context(), 0, p); err != nil {
			t.Fatal(err)
		}
		if good := series.Steps()[0].Total.Good; good != 10 {
			t.Errorf("%d are good, want 10", good)
		}
	})
}
