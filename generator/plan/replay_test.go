package plan

import (
	"slices"
	"testing"
	"time"
)

func replay(r Replay, phases ...Phase) Spec {
	s := one(phases...)
	s.Arrivals, s.Replay = Replayed, r
	return s
}

func TestReplay(t *testing.T) {
	for name, c := range map[string]struct {
		spec  Spec
		want  []time.Duration
		rates []float64 // of the steps
	}{
		"offsets in any order, ties one nanosecond apart": {
			replay(Replay{Offsets: []time.Duration{1500 * ms, 0, 20 * ms, 20 * ms, 20*ms + 1}}),
			[]time.Duration{0, 20 * ms, 20*ms + 1, 20*ms + 2, 1500 * ms},
			[]float64{2.5},
		},
		"counts, evenly spread": {
			replay(Replay{Counts: []int{2, 0, 4}}),
			[]time.Duration{250 * ms, 750 * ms, 2125 * ms, 2375 * ms, 2625 * ms, 2875 * ms},
			[]float64{2},
		},
		"counts of 100 ms": {
			replay(Replay{Counts: []int{1, 3}, Every: 100 * ms}),
			[]time.Duration{50 * ms, 116666667, 150 * ms, 183333333},
			[]float64{20},
		},
		"counts by step": {
			replay(Replay{Counts: []int{2, 4}}, hold(0, 1500*ms), Phase{Kind: Spike, For: time.Second}),
			[]time.Duration{250 * ms, 750 * ms, 1125 * ms, 1375 * ms, 1625 * ms, 1875 * ms},
			[]float64{4 / 1.5, 2},
		},
		"offsets by step": {
			replay(Replay{Offsets: []time.Duration{0, 999 * ms, 1000 * ms}}, hold(0, time.Second), hold(0, 2*time.Second)),
			[]time.Duration{0, 999 * ms, 1000 * ms},
			[]float64{2, 0.5},
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustNew(t, c.spec)
			if got := instants(p); !slices.Equal(got, c.want) {
				t.Errorf("arrivals at %v, want %v", got, c.want)
			}
			if n := len(c.want); p.Count() != uint64(n) || p.Expected() != float64(n) {
				t.Errorf("Count() = %d, Expected() = %v, want %d", p.Count(), p.Expected(), n)
			}
			steps := p.Steps()
			for a := range p.All() {
				if s := steps[a.Step]; a.At < s.Start || a.At >= s.Start+s.Duration {
					t.Errorf("arrival at %v counts in the step from %v for %v", a.At, s.Start, s.Duration)
				}
			}
			var rates []float64
			for _, s := range steps {
				rates = append(rates, s.Rate())
			}
			if !slices.Equal(rates, c.rates) {
				t.Errorf("rates of the steps are %v, want %v", rates, c.rates)
			}
		})
	}
}

func TestReplayFaults(t *testing.T) {
	second := time.Second
	for name, c := range map[string]struct {
		spec Spec
		want []string
	}{
		"nothing":             {replay(Replay{}), []string{"replay"}},
		"both":                {replay(Replay{Offsets: []time.Duration{0}, Counts: []int{1}}), []string{"replay.counts"}},
		"before the start":    {replay(Replay{Offsets: []time.Duration{0, -1}}), []string{"replay.offsets[1]"}},
		"negative count":      {replay(Replay{Counts: []int{-1, 5, -2}}), []string{"replay.counts[0]", "replay.counts[2]"}},
		"too many at once":    {replay(Replay{Counts: []int{1001}, Every: ms}), []string{"replay.counts[0]"}},
		"every of offsets":    {replay(Replay{Offsets: []time.Duration{0}, Every: second}), []string{"replay.every"}},
		"every too short":     {replay(Replay{Counts: []int{1}, Every: ms - 1}), []string{"replay.every"}},
		"longer than a month": {replay(Replay{Counts: make([]int, 31), Every: 24 * time.Hour}), []string{"replay.counts"}},
		"longer than phases":  {replay(Replay{Counts: []int{1, 1}}, hold(0, second)), []string{"phases"}},
		"phases with a rate":  {replay(Replay{Counts: []int{1}}, hold(5, second)), []string{"phases[0].rate"}},
		"ramps":               {replay(Replay{Counts: []int{1}}, ramp(1, 2, second)), []string{"phases[0].kind"}},
		"no duration":         {replay(Replay{Counts: []int{1}}, hold(0, 0)), []string{"phases[0].for"}},
		"classes with phases": {func() Spec {
			s := replay(Replay{Counts: []int{1}})
			s.Classes[0].Phases = []Phase{hold(1, second)}
			return s
		}(), []string{"classes[0].phases"}},
	} {
		var got []string
		err := c.spec.Validate()
		for _, f := range FieldErrors(err) {
			got = append(got, f.Field)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: faults in %v, want %v: %v", name, got, c.want, err)
		}
	}
}
