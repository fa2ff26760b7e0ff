package record

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"
)

// fate is what happens to one original of a drawn run.
type fate struct {
	Ending
	attempts []time.Duration // instants of sending
	unsend   bool            // the first one is taken back
}

// drawn is a run: steps back to back and the fates of their originals.
type drawn struct {
	classes []string
	steps   []StepInfo
	fates   []fate
}

func runs() *rapid.Generator[drawn] {
	return rapid.Custom(func(t *rapid.T) drawn {
		d := drawn{classes: []string{"a", "b", "c"}[:rapid.IntRange(1, 3).Draw(t, "classes")]}
		var at time.Duration
		for i := range rapid.IntRange(1, 4).Draw(t, "steps") {
			length := rapid.SampledFrom([]time.Duration{150 * time.Millisecond, 730 * time.Millisecond, 1300 * time.Millisecond, 2 * time.Second}).Draw(t, "length")
			at += rapid.SampledFrom([]time.Duration{0, 333 * time.Millisecond}).Draw(t, "pause")
			d.steps = append(d.steps, StepInfo{Index: i, Phase: "hold", Start: at, Duration: length, From: 100, To: 100})
			for range rapid.IntRange(0, 30).Draw(t, "originals") {
				planned := at + time.Duration(rapid.Int64Range(0, int64(length)-1).Draw(t, "planned"))
				d.fates = append(d.fates, drawFate(t, i, rapid.IntRange(0, len(d.classes)-1).Draw(t, "class"), planned))
			}
			at += length
		}
		return d
	})
}

func drawFate(t *rapid.T, step, class int, planned time.Duration) fate {
	ms := func(label string, most int64) time.Duration {
		return time.Duration(rapid.Int64Range(0, most*1000).Draw(t, label)) * time.Microsecond
	}
	f := fate{Ending: Ending{Step: step, Class: class, Planned: planned, Kind: Kind(rapid.IntRange(0, int(kinds)-1).Draw(t, "kind"))}}
	switch f.Kind {
	case Rejected, Failed, Withheld, Unsent:
		f.Reason = rapid.SampledFrom([]string{"x", "y", "z"}).Draw(t, "reason")
	case Good:
		f.Degraded = rapid.Bool().Draw(t, "degraded")
	}
	f.unsend = f.Kind == Unsent && rapid.Bool().Draw(t, "taken back")
	if f.unsend || f.Kind != Withheld && f.Kind != Unsent {
		f.Sent = planned + ms("lag", rapid.SampledFrom([]int64{0, 0, 1, 300}).Draw(t, "most lag"))
		f.attempts = append(f.attempts, f.Sent)
		for !f.unsend && rapid.IntRange(0, 3).Draw(t, "retry") == 0 {
			f.Sent += ms("backoff", 100)
			f.attempts = append(f.attempts, f.Sent)
		}
	}
	f.Done = max(planned, f.Sent) + ms("wait", rapid.SampledFrom([]int64{0, 50, 1500}).Draw(t, "most wait"))
	return f
}

// happening is one call on a recorder.
type happening struct {
	at   time.Duration
	call func(*Recorder)
}

// play books d up to until in the order of time and returns the deltas.
func (d drawn) play(until time.Duration) []*Delta {
	var all []happening
	for i := range d.fates {
		all = append(all, d.fates[i].happenings()...)
	}
	slices.SortStableFunc(all, func(a, b happening) int { return cmp.Compare(a.at, b.at) })

	var deltas []*Delta
	r := NewRecorder(RecorderOptions{Classes: d.classes, MaxLatency: time.Second, Sink: func(d *Delta) {
		deltas = append(deltas, d.clone())
		d.Release() // what comes later is counted in used memory
	}})
	begun := 0
	for _, h := range all {
		if h.at > until {
			break
		}
		for begun < len(d.steps) && d.steps[begun].Start <= h.at {
			r.Begin(d.steps[begun])
			begun++
		}
		h.call(r)
	}
	for _, s := range d.steps[begun:] {
		r.Begin(s)
	}
	r.Flush(min(until, d.end()))
	return deltas
}

// clone returns a copy that shares nothing with d.
func (d *Delta) clone() *Delta {
	out := &Delta{Window: d.Window, Steps: slices.Clone(d.Steps), Cells: slices.Clone(d.Cells), Hists: slices.Clone(d.Hists)}
	for i := range out.Cells {
		out.Cells[i].Reasons = slices.Clone(out.Cells[i].Reasons)
	}
	for i := range out.Hists {
		for p, of := range out.Hists[i].Of {
			if of != nil {
				out.Hists[i].Of[p] = NewHistogram(time.Microsecond)
				out.Hists[i].Of[p].Add(of)
			}
		}
	}
	return out
}

func (f *fate) happenings() []happening {
	all := []happening{{f.Planned, func(r *Recorder) { r.Planned(f.Step, f.Class, f.Planned) }}}
	due := f.Planned
	for i, sent := range f.attempts {
		planned := due
		all = append(all, happening{sent, func(r *Recorder) { r.Attempt(f.Step, f.Class, f.Planned, planned, sent, i == 0, hedged(i)) }})
		due = sent
	}
	if f.unsend {
		all = append(all, happening{f.Done, func(r *Recorder) { r.Unsend(f.Step, f.Class, f.Planned, f.Planned, f.Sent, true, false) }})
	}
	return append(all, happening{f.Done, func(r *Recorder) {
		e := f.Ending
		r.End(&e)
		e = Ending{} // not kept
	}})
}

func (d drawn) end() time.Duration {
	var end time.Duration
	for _, f := range d.fates {
		end = max(end, f.Done)
	}
	return end
}

// hedged says which attempts of an original are hedges.
func hedged(i int) bool { return i%2 == 1 }

// counts returns what f adds to a tally.
func (f *fate) counts() Counts {
	c := Counts{Planned: 1, Attempts: uint64(len(f.attempts)), Hedges: uint64(len(f.attempts) / 2)}
	*c.of(f.Kind) = 1
	if len(f.attempts) > 0 {
		c.Sent = 1
	}
	if f.unsend {
		c.Sent, c.Attempts = 0, 0
	}
	if f.Degraded {
		c.Degraded = 1
	}
	return c
}

func series(classes []string, deltas []*Delta) *Series {
	s := NewSeries(classes)
	for _, d := range deltas {
		s.Add(d)
	}
	return s
}

// public is everything that a Series shows.
type public struct {
	Steps    []Step
	ByEnding []Counts
	Total    Tally
	Whole    [Populations]Quantiles
}

func show(s *Series) public {
	p := public{ByEnding: s.ByEnding(), Total: s.Total()}
	for _, step := range s.Steps() {
		p.Steps = append(p.Steps, *step)
	}
	for of := range Populations {
		p.Whole[of] = s.Histogram(All, All, of).Quantiles()
	}
	return p
}

func (d drawn) String() string {
	return fmt.Sprintf("%d steps, %d originals", len(d.steps), len(d.fates))
}
