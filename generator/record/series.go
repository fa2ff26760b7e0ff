package record

import (
	"sync"
	"time"
)

// A Series adds up the Deltas of a run.
//
// Its memory grows by less than WindowCost bytes for each Window of the run, and
// by a few kilobytes for each step, class and population; not with the rate.
//
// The methods may be called from several goroutines. What Steps and ByEnding
// return is shared: it is for the goroutine that calls Add, or for when the run
// is over. A screen takes a Snapshot.
type Series struct {
	mu       sync.Mutex
	classes  []string
	steps    []*Step
	byEnding []Counts
	open     []*Step // not settled
	spare    spares
}

// WindowCost is how many bytes a Window of a run costs at most, in the Series
// and in the Recorder together, with up to four classes: its counts by ending
// and by planned window, which grow by doubling, a fifth of its second's
// quantiles, and its place in the recorder's index.
const WindowCost = 512

// NewSeries returns an empty series for a run with the classes given.
func NewSeries(classes []string) *Series {
	return &Series{classes: classes}
}

// Classes returns the names of the classes.
func (s *Series) Classes() []string { return s.classes }

// Begin adds a step; one that is known takes on its end. The steps that
// a recorder begins and shortens are in its Deltas.
func (s *Series) Begin(info StepInfo) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin(info)
}

func (s *Series) begin(info StepInfo) {
	s.steps = grown(s.steps, info.Index)
	if s.steps[info.Index] == nil {
		step := newStep(info, len(s.classes))
		s.steps[info.Index] = step
		s.open = append(s.open, step)
		return
	}
	known := &s.steps[info.Index].Info
	known.Duration, known.To = info.Duration, info.To
}

// Add adds d. The order does not matter, but a step begins before it is counted
// in, and the quantiles of a single second are final 10 s after its end. d is
// not kept; its owner still releases it.
func (s *Series) Add(d *Delta) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, info := range d.Steps {
		s.begin(info)
	}
	s.byEnding = grown(s.byEnding, d.Window)
	for i := range d.Cells {
		c := &d.Cells[i]
		s.byEnding[d.Window].Add(c.Counts)
		s.reopen(c.Step).count(c)
	}
	for i := range d.Hists {
		s.reopen(d.Hists[i].Step).measure(&d.Hists[i], &s.spare)
	}
	s.settle()
}

// reopen returns a step that something is added to.
func (s *Series) reopen(index int) *Step {
	step := s.steps[index]
	if step.settled {
		step.settled = false
		s.open = append(s.open, step)
	}
	return step
}

// settle lets go of what is final.
func (s *Series) settle() {
	now := time.Duration(len(s.byEnding)) * Window
	open := s.open[:0]
	for _, step := range s.open {
		if step.settle(now, &s.spare); !step.settled {
			open = append(open, step)
		}
	}
	clear(s.open[len(open):])
	s.open = open
}

// Steps returns the steps that have begun, in their order, with up-to-date
// quantiles. They stay valid, and change with the next Add.
func (s *Series) Steps() []*Step {
	s.mu.Lock()
	defer s.mu.Unlock()
	steps := make([]*Step, 0, len(s.steps))
	for _, step := range s.steps {
		if step != nil {
			step.refresh(&s.spare)
			steps = append(steps, step)
		}
	}
	return steps
}

// ByEnding returns what happened in each Window of the run's clock: arrivals,
// sendings and endings in the window in which they took place.
func (s *Series) ByEnding() []Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byEnding
}

// Total returns the tally of the whole run. It shares nothing with s.
func (s *Series) Total() Tally {
	s.mu.Lock()
	defer s.mu.Unlock()
	var t Tally
	for _, step := range s.steps {
		if step != nil {
			t.Add(step.Total)
		}
	}
	return t
}

// All selects every step or every class of a Histogram.
const All = -1

// Histogram returns the durations of one population in one step and class, or in
// All of them.
func (s *Series) Histogram(step, class int, p Population) *Histogram {
	s.mu.Lock()
	defer s.mu.Unlock()
	sum := NewHistogram(time.Second)
	for i, each := range s.steps {
		if each == nil || step != All && step != i {
			continue
		}
		for c := range each.kept {
			if class == All || class == c {
				each.kept[c][p].addTo(sum)
			}
		}
	}
	return sum
}

// InFlight returns how many originals were sent and not ended at the end of each
// Window of the run's clock, from the one that from is in up to, not including,
// the one that to is in.
func (s *Series) InFlight(from, to time.Duration) []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return inFlight(s.byEnding, int(from/Window), int(to/Window))
}

func inFlight(windows []Counts, from, to int) []int {
	var open []int
	n := 0
	for w := range max(to, 0) {
		if w < len(windows) {
			c := &windows[w]
			n += int(c.Sent - (c.Good + c.Late + c.Rejected + c.Timeout + c.Failed + c.Unfinished))
		}
		if w >= from {
			open = append(open, n)
		}
	}
	return open
}

// MarkUnfinished ends what is open: originals that were sent are unfinished,
// those never sent are withheld with reason "killed". They end in the last
// window. It is for the records of a run that was killed.
func (s *Series) MarkUnfinished() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, step := range s.steps {
		if step == nil {
			continue
		}
		if ended := step.finish(); ended != (Counts{}) {
			s.byEnding[len(s.byEnding)-1].Add(ended)
		}
	}
}
