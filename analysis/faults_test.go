package analysis

import (
	"strings"
	"testing"
	"time"
)

// faulted is a run at one load in which goodput suffers for two seconds from the
// third on, and takes some more to return.
func faulted(trial int, back time.Duration) []stretch {
	part := func(good float64, length time.Duration) stretch {
		return stretch{phase: "hold", trial: trial, rate: 1000, length: length, good: good}
	}
	return []stretch{part(1, 3*time.Second), part(0.3, 2*time.Second), part(0, back), part(1, 12*time.Second)}
}

// underFaults is what is known of a run with faults at these instants, in seconds.
func underFaults(windows ...[2]float64) Meta {
	m := wall()
	for _, w := range windows {
		m.Faults = append(m.Faults, Fault{Kind: "stall", Start: time.Duration(w[0] * 1e9), End: time.Duration(w[1] * 1e9)})
	}
	return m
}

func TestRecoveryAfterAFault(t *testing.T) {
	for _, tt := range []struct {
		name   string
		faults [][2]float64
	}{
		{"one", [][2]float64{{3, 5}}},
		{"two that overlap", [][2]float64{{4, 5}, {3, 4.5}}},
		{"not at the start of a window", [][2]float64{{3.01, 4.99}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := Analyze(madeUp(faulted(0, 2*time.Second)...), underFaults(tt.faults...)).Recovery
			if r.Verdict != "recovered" || r.Faults != 1 || r.Spikes != 0 || !strings.Contains(r.Why, "after the end of the fault") {
				t.Fatalf("recovery %+v, want recovered from one fault", r)
			}
			if *r.MedianS < 1.8 || *r.MedianS > 2.2 || *r.LowS > 2 || *r.HighS < 2 {
				t.Errorf("recovery %v (%v to %v) s, want 2 s within a window", *r.MedianS, *r.LowS, *r.HighS)
			}
		})
	}
}

// The second fault comes before the server has recovered from the first one: how
// well it was before is known from the time before both.
func TestTheBaselineOfASecondFaultIsOlderThanTheFirst(t *testing.T) {
	stretches := faulted(0, 2*time.Second)
	stretches[3].length = 30 * time.Second
	series := madeUp(stretches...)
	got, _ := afterFaults(series.Steps(), series, underFaults([2]float64{3, 5}, [2]float64{6, 6.4}), 0)
	if len(got) != 2 || got[0].episode.After.Verdict == "recovered" {
		t.Fatalf("results %+v, want two, and no recovery from the first before the second came", got)
	}
	if r := got[1].episode.After; r.Verdict != "recovered" || r.FromEnd < 400*time.Millisecond || r.FromEnd > 800*time.Millisecond {
		t.Errorf("%s %v after the second (%s), want recovered 600ms after it", r.Verdict, r.FromEnd, r.Why)
	}
}

func TestSpikesAndFaultsAreJudgedTogether(t *testing.T) {
	stretches := append(faulted(0, 0), spiked(time.Second)...)
	r := Analyze(madeUp(stretches...), underFaults([2]float64{3, 5})).Recovery
	if r.Spikes != 1 || r.Faults != 1 || r.Verdict != "recovered" {
		t.Errorf("recovery %+v, want one of a spike and one of a fault", r)
	}
}

func TestRecoveryFromAFaultNeedsTheSameLoadAround(t *testing.T) {
	other := faulted(0, time.Second)
	other[3].rate = 900
	other[2].rate = 900
	other[1].rate = 900
	for name, tt := range map[string]struct {
		stretches []stretch
		fault     [2]float64
	}{
		"from the start":      {faulted(0, time.Second), [2]float64{0, 5}},
		"to the end":          {faulted(0, time.Second), [2]float64{3, 18}},
		"not seen to end":     {faulted(0, time.Second), [2]float64{3, 0}},
		"with another load":   {other, [2]float64{3, 5}},
		"after the last step": {faulted(0, time.Second), [2]float64{30, 31}},
	} {
		if r := Analyze(madeUp(tt.stretches...), underFaults(tt.fault)).Recovery; r.Verdict != "not_tested" || r.Why == "" {
			t.Errorf("%s: %+v, want not_tested and why", name, r)
		}
	}
}

// A load that a fault came into says nothing about the healthy server; under one
// that was there all along, the server with the fault is what is measured.
func TestFaultsAndThePointsOfTheCurve(t *testing.T) {
	stretches := curve()
	var total float64
	for _, s := range stretches {
		total += s.length.Seconds()
	}
	whole := Analyze(madeUp(stretches...), underFaults([2]float64{0, total}))
	if whole.Knee.Verdict != "found" {
		t.Errorf("knee %s (%s) under a fault that lasts throughout, want it found", whole.Knee.Verdict, whole.Knee.Why)
	}
	open := Analyze(madeUp(stretches...), underFaults([2]float64{0, 0}))
	if open.Knee.Verdict != "found" {
		t.Errorf("knee %s (%s) under a fault that was not seen to end, want it found", open.Knee.Verdict, open.Knee.Why)
	}
	hit := append(curve(), faulted(9, time.Second)...)
	m := underFaults([2]float64{total + 3, total + 5})
	r := Analyze(madeUp(hit...), m)
	if r.Knee.Verdict != "found" || *r.Knee.RPS < 950 {
		t.Errorf("knee %s at %v (%s), want about 1000/s: what came after the fault is no point", r.Knee.Verdict, r.Knee.RPS, r.Knee.Why)
	}
}
