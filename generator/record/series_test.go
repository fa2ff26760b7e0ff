package record

import (
	"slices"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

const forever = time.Duration(1<<63 - 1)

var samePublic = cmp.Options{cmpopts.IgnoreUnexported(Step{}), cmpopts.EquateEmpty()}

// What a series says of a run is what the fates of its originals add up to.
func TestSeriesCountsEveryOriginalOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := runs().Draw(t, "run")
		s := series(d.classes, d.play(forever))

		for i, step := range s.Steps() {
			want := Tally{}
			byClass := make([]Tally, len(d.classes))
			var byPlanned []Counts
			response := hdr.New(1, 2_000_000, 3)
			for _, f := range d.fates {
				if f.Step != i {
					continue
				}
				u := Tally{Counts: f.counts()}
				u.count(f.Kind, f.Reason, 1)
				want.Add(u)
				byClass[f.Class].Add(u)
				w := int((f.Planned - step.Info.Start) / Window)
				byPlanned = grown(byPlanned, w)
				byPlanned[w].Add(u.Counts)
				if f.Kind == Good {
					if err := response.RecordValue(min(microseconds(f.Done-f.Planned), 2_000_000)); err != nil {
						t.Fatal(err)
					}
				}
			}
			if err := step.Total.Conserved(); err != nil {
				t.Fatalf("step %d: %v", i, err)
			}
			if diff := cmp.Diff(want, step.Total, samePublic); diff != "" {
				t.Fatalf("step %d (-fates +series):\n%s", i, diff)
			}
			if diff := cmp.Diff(byClass, step.ByClass, samePublic); diff != "" {
				t.Fatalf("step %d by class (-fates +series):\n%s", i, diff)
			}
			if diff := cmp.Diff(byPlanned, step.ByPlanned, samePublic); diff != "" {
				t.Fatalf("step %d by planned window (-fates +series):\n%s", i, diff)
			}
			if got := uint64(step.Response.Count); got != want.Good {
				t.Fatalf("step %d: %d response times of %d good originals", i, got, want.Good)
			}
			if got, want := step.Response.P99, time.Duration(response.ValueAtPercentile(99))*time.Microsecond; got != want {
				t.Fatalf("step %d: p99 is %v, HdrHistogram says %v", i, got, want)
			}
			var inSeconds uint64
			for _, q := range step.Seconds {
				inSeconds += uint64(q.Count)
			}
			if inSeconds != want.Good {
				t.Fatalf("step %d: the seconds have %d response times of %d", i, inSeconds, want.Good)
			}
		}
	})
}

// Each event is in the window in which it happened.
func TestByEndingIsTheWindowOfTheEvent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := runs().Draw(t, "run")
		var want []Counts
		at := func(instant time.Duration) *Counts {
			want = grown(want, int(instant/Window))
			return &want[instant/Window]
		}
		for _, f := range d.fates {
			at(f.Planned).Planned++
			if len(f.attempts) > 0 && !f.unsend {
				at(f.attempts[0]).Sent++
				for i, sent := range f.attempts {
					at(sent).Attempts++
					if hedged(i) {
						at(sent).Hedges++
					}
				}
			}
			*at(f.Done).of(f.Kind)++
			if f.Degraded {
				at(f.Done).Degraded++
			}
		}
		s := series(d.classes, d.play(forever))
		if diff := cmp.Diff(want, s.ByEnding()[:len(want)], samePublic); diff != "" {
			t.Fatalf("by ending (-fates +series):\n%s", diff)
		}

		end := time.Duration(len(want)) * Window
		for w, got := range s.InFlight(0, end) {
			open := 0
			for _, f := range d.fates {
				if len(f.attempts) > 0 && !f.unsend && f.attempts[0]/Window <= time.Duration(w) && f.Done/Window > time.Duration(w) {
					open++
				}
			}
			if got != open {
				t.Fatalf("window %d: %d in flight, want %d", w, got, open)
			}
		}
		if whole, part := s.InFlight(0, end), s.InFlight(end/2, end); !slices.Equal(whole[len(whole)-len(part):], part) {
			t.Fatalf("in flight from the middle is %v, of the whole %v", part, whole)
		}
	})
}

// Deltas of several recorders may come in any order.
func TestOrderOfDeltasDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := runs().Draw(t, "run")
		deltas := d.play(forever)
		want := show(series(d.classes, deltas))
		s := NewSeries(d.classes)
		for _, info := range d.steps {
			s.Begin(info)
		}
		for _, delta := range rapid.Permutation(deltas).Draw(t, "order") {
			s.Add(delta)
		}
		if diff := cmp.Diff(want, show(s), samePublic); diff != "" {
			t.Fatalf("(-in order +permuted):\n%s", diff)
		}
	})
}

// Two halves of the clients, each recorded apart, are the whole run.
func TestRecordersAddUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := runs().Draw(t, "run")
		even, odd := d, d
		even.fates, odd.fates = nil, nil
		for i, f := range d.fates {
			if i%2 == 0 {
				even.fates = append(even.fates, f)
			} else {
				odd.fates = append(odd.fates, f)
			}
		}
		want := show(series(d.classes, d.play(forever)))
		got := show(series(d.classes, append(even.play(forever), odd.play(forever)...)))
		if diff := cmp.Diff(want, got, samePublic); diff != "" {
			t.Fatalf("(-one recorder +two):\n%s", diff)
		}
	})
}

// A run that is cut at any instant adds up once what is open is ended.
func TestMarkUnfinished(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := runs().Draw(t, "run")
		cut := time.Duration(rapid.Int64Range(0, int64(d.end())).Draw(t, "cut"))
		s := series(d.classes, d.play(cut))
		before := s.Total()
		s.MarkUnfinished()
		after := s.Total()
		if err := after.Conserved(); err != nil {
			t.Fatal(err)
		}
		if got := after.Unfinished + after.Withheld - before.Unfinished - before.Withheld; got != before.Open() {
			t.Fatalf("%d originals were ended, %d were open", got, before.Open())
		}
		for _, step := range s.Steps() {
			var windows Counts
			for _, c := range step.ByPlanned {
				windows.Add(c)
			}
			if windows != step.Total.Counts {
				t.Fatalf("step %d: windows add up to %+v, the step to %+v", step.Info.Index, windows, step.Total.Counts)
			}
		}
		var windows Counts
		for _, c := range s.ByEnding() {
			windows.Add(c)
		}
		if windows != after.Counts {
			t.Fatalf("windows by ending add up to %+v, the run to %+v", windows, after.Counts)
		}
	})
}

// A step and its seconds are let go of, and a delta that comes later still counts.
func TestLateDeltaReopensAStep(t *testing.T) {
	s := NewSeries([]string{"a"})
	s.Begin(StepInfo{Duration: time.Second})
	add := func(window int, c Counts, response time.Duration) {
		h := NewHistogram(time.Second)
		h.Record(response)
		s.Add(&Delta{
			Window: window,
			Cells:  []Cell{{Counts: c}},
			Hists:  []Hist{{Of: [Populations]*Histogram{Response: h}}},
		})
	}
	one := Counts{Planned: 1, Sent: 1, Attempts: 1, Good: 1}
	add(0, one, 10*time.Millisecond)
	s.Add(&Delta{Window: 100})
	if step := s.Steps()[0]; !step.settled || step.kept[0][Response].histogram != nil || len(step.pending) != 0 {
		t.Fatal("a step that was over 19 s ago is still kept open")
	}
	if got := s.Steps()[0].Seconds[0]; got.Count != 1 || got.P99 != 10*time.Millisecond+7*time.Microsecond {
		t.Errorf("its first second is %+v, want one value of 10ms", got)
	}
	add(100, one, 500*time.Millisecond)
	step := s.Steps()[0]
	if step.Total.Good != 2 || step.Response.Count != 2 || step.Response.Max < 500*time.Millisecond || step.Response.P50 > 11*time.Millisecond {
		t.Errorf("after a late delta: %d good, response %+v: want 2, of 10ms and 500ms", step.Total.Good, step.Response)
	}
}

// A second waits for the last of its originals, however long that takes.
func TestSecondWaitsForItsOriginals(t *testing.T) {
	var s *Series
	r := NewRecorder(RecorderOptions{Classes: []string{"a"}, MaxLatency: time.Minute, Sink: func(d *Delta) { s.Add(d); d.Release() }})
	s = NewSeries([]string{"a"})
	r.Begin(StepInfo{Duration: 2 * time.Second})
	end := func(planned, done time.Duration) { r.End(&Ending{Planned: planned, Sent: planned, Done: done}) }
	for _, planned := range []time.Duration{0, 1, 1500 * time.Millisecond} {
		r.Planned(0, 0, planned)
		r.Attempt(0, 0, planned, planned, planned, true, false)
	}
	end(0, 2*time.Second)
	end(1500*time.Millisecond, 2*time.Second)
	r.Tick(30 * time.Second)
	r.Planned(0, 0, 1999*time.Millisecond) // so that there is a delta at 30 s
	r.Attempt(0, 0, 1999*time.Millisecond, 30*time.Second, 30*time.Second, true, false)
	r.Tick(31 * time.Second)
	if n := len(s.steps[0].pending); n != 2 {
		t.Errorf("%d seconds are kept open, want both: an original of each has not ended", n)
	}
	end(1, 40*time.Second)
	end(1999*time.Millisecond, 40*time.Second)
	r.Flush(40 * time.Second)
	if n := len(s.steps[0].pending); n != 0 {
		t.Errorf("%d seconds are kept open, want none", n)
	}
	step := s.Steps()[0]
	for i, want := range []int64{2, 2} {
		if got := step.Seconds[i]; got.Count != want || got.Max < 38*time.Second {
			t.Errorf("second %d is %+v, want %d values up to 40s", i, got, want)
		}
	}
}

func TestSnapshotSharesNothing(t *testing.T) {
	s := NewSeries([]string{"a"})
	s.Begin(StepInfo{Duration: time.Second, Phase: "hold"})
	rejected := Cell{Counts: Counts{Planned: 3, Sent: 3, Attempts: 3, Rejected: 1}, Reasons: []Reason{{Rejected, "limit", 1}}}
	for w := range 4 {
		s.Add(&Delta{Window: w, Cells: []Cell{rejected}})
	}
	snap := s.Snapshot(3)
	s.Add(&Delta{Window: 3, Cells: []Cell{rejected}})
	c := Counts{Planned: 3, Sent: 3, Attempts: 3, Rejected: 1}
	want := Snapshot{
		At:      800 * time.Millisecond,
		Classes: []string{"a"},
		Steps: []StepState{{
			Info:   StepInfo{Duration: time.Second, Phase: "hold"},
			Counts: Counts{Planned: 12, Sent: 12, Attempts: 12, Rejected: 4},
		}},
		Recent:   []Counts{c, c, c},
		InFlight: 8,
		Rejected: map[string]uint64{"limit": 4},
	}
	if diff := cmp.Diff(want, snap); diff != "" {
		t.Errorf("snapshot (-want +got):\n%s", diff)
	}
}
