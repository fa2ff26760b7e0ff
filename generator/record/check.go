package record

import (
	"fmt"
	"math"
	"time"
)

// longestGap is how many windows without a line a file may have before a line,
// 3.6 hours; more is taken for damage.
const longestGap = 1 << 16

func errMissing(field string) error { return fmt.Errorf("%q is missing", field) }

// checker turns the parts of a line into those of a Delta. It keeps the first
// thing that is wrong.
type checker struct {
	series *Series
	begun  int // steps that are known, with those of the line
	err    error
}

func (c *checker) fail(format string, args ...any) {
	if c.err == nil {
		c.err = fmt.Errorf(format, args...)
	}
}

// index checks that i is an index below n, and returns one that is.
func (c *checker) index(field string, i, n int) int {
	if i >= 0 && i < n {
		return i
	}
	c.fail("%s is %d: want 0 to %d", field, i, n-1)
	return 0
}

func (c *checker) step(info StepInfo) {
	switch {
	case info.Index < 0 || info.Index > c.begun:
		c.fail("step index is %d: want 0 to %d, as steps begin in their order", info.Index, c.begun)
	case info.Start < 0 || info.Duration < 0 || info.Start > math.MaxInt64/4 || info.Duration > math.MaxInt64/4:
		c.fail("step %d starts at %v and takes %v: want no negative duration, and at most a century", info.Index, info.Start, info.Duration)
	case info.Index == c.begun:
		c.begun++
	}
}

// window checks an index of a window or second of a step.
func (c *checker) window(field string, i, step, have int, width time.Duration) int {
	n := have + longestGap
	if step < len(c.series.steps) {
		inStep := int((c.series.steps[step].Info.Duration + width - 1) / width)
		n = min(n, max(inStep, 1))
	}
	return c.index(field, i, n)
}

func (c *checker) cell(l *lineCell) Cell {
	out := Cell{
		Step:  c.index("step", l.Step, c.begun),
		Class: c.index("class", l.Class, len(c.series.classes)),
		Counts: Counts{
			Planned: uint64(l.Planned), Unsent: uint64(l.Unsent), Withheld: uint64(l.Withheld), Sent: uint64(l.Sent),
			Good: uint64(l.Good), Degraded: uint64(l.Degraded), Late: uint64(l.Late), Rejected: uint64(l.Rejected),
			Timeout: uint64(l.Timeout), Failed: uint64(l.Failed), Unfinished: uint64(l.Unfinished), Attempts: uint64(l.Attempts),
			Hedges: uint64(l.Hedges),
		},
	}
	have := 0
	if out.Step < len(c.series.steps) {
		have = len(c.series.steps[out.Step].ByPlanned)
	}
	out.Window = c.window("planned_window", l.Window, out.Step, have, Window)
	for _, r := range l.Reasons {
		k, ok := kindNamed(r.Kind)
		if !ok {
			c.fail("kind is %q: want one of %q", r.Kind, kindNames)
		}
		out.Reasons = append(out.Reasons, Reason{Kind: k, Reason: r.Reason, Count: r.Count})
	}
	return out
}

func (c *checker) hist(l *lineHist, d *hdrDecoder) Hist {
	out := Hist{
		Step:  c.index("step", l.Step, c.begun),
		Class: c.index("class", l.Class, len(c.series.classes)),
	}
	have := 0
	if out.Step < len(c.series.steps) {
		have = len(c.series.steps[out.Step].Seconds)
	}
	out.Second = c.window("planned_second", l.Second, out.Step, have, HistWindow)
	known := 0
	for p, name := range populationNames {
		text, ok := l.Of[name]
		if !ok {
			continue
		}
		known++
		h, err := d.decode(text)
		if err != nil {
			c.fail("histogram %q: %w", name, err)
			continue
		}
		h.clamped = l.Clamped[name]
		out.Of[p] = h
	}
	if known != len(l.Of) {
		c.fail("unknown histogram: known are %q", populationNames)
	}
	return out
}
