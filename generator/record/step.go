package record

import "time"

// A Step is what a Series knows of one step. It belongs to the Series.
type Step struct {
	Info    StepInfo
	Total   Tally
	ByClass []Tally // in the order of the classes

	// Quantiles of the step, all classes together.
	Response, Service, Reject, Late, Lag Quantiles
	ClassResponse                        []Quantiles // Response, by class

	// ByPlanned counts what became of the originals that were planned in each
	// Window since the start of the step. It ends with the last window that has
	// any; Info says how many there are.
	ByPlanned []Counts
	// Seconds are the quantiles of Response by the second of the step in which
	// the originals were planned; as long as the last second that has any.
	Seconds []Quantiles

	kept    [][Populations]kept // by class
	pending []second            // of Seconds, those that are not final
	changed bool                // the quantiles are older than what is kept
	settled bool                // nothing more is expected
}

// second holds the durations of one second until it is final.
type second struct {
	index    int
	response *Histogram
}

// settleAfter is how long after its end a step or a second is still kept ready
// for deltas that come late, as those of another recorder may.
const settleAfter = 10 * time.Second

func newStep(info StepInfo, classes int) *Step {
	return &Step{
		Info:          info,
		ByClass:       make([]Tally, classes),
		ClassResponse: make([]Quantiles, classes),
		kept:          make([][Populations]kept, classes),
	}
}

// count adds a cell.
func (s *Step) count(c *Cell) {
	s.Total.Counts.Add(c.Counts)
	s.ByClass[c.Class].Counts.Add(c.Counts)
	for _, r := range c.Reasons {
		s.Total.count(r.Kind, r.Reason, r.Count)
		s.ByClass[c.Class].count(r.Kind, r.Reason, r.Count)
	}
	s.ByPlanned = grown(s.ByPlanned, c.Window)
	s.ByPlanned[c.Window].Add(c.Counts)
}

// measure adds the durations of one second.
func (s *Step) measure(h *Hist, spare *spares) {
	for p, of := range h.Of {
		if of != nil {
			s.kept[h.Class][p].open(spare).Add(of)
			s.changed = true
		}
	}
	if of := h.Of[Response]; of != nil {
		s.Seconds = grown(s.Seconds, h.Second)
		s.second(h.Second, spare).Add(of)
	}
}

// second returns the open histogram of second i. One that was final starts
// again: its quantiles are those of what came since.
func (s *Step) second(i int, spare *spares) *Histogram {
	for _, p := range s.pending {
		if p.index == i {
			return p.response
		}
	}
	s.pending = append(s.pending, second{i, spare.take()})
	return s.pending[len(s.pending)-1].response
}

// refresh brings the quantiles up to date.
func (s *Step) refresh(spare *spares) {
	if !s.changed {
		return
	}
	s.changed = false
	sum := spare.take()
	defer spare.give(sum)
	for p, q := range s.quantiles() {
		sum.reset()
		for class := range s.kept {
			s.kept[class][p].addTo(sum)
		}
		*q = sum.Quantiles()
	}
	for class := range s.kept {
		sum.reset()
		s.kept[class][Response].addTo(sum)
		s.ClassResponse[class] = sum.Quantiles()
	}
	for _, p := range s.pending {
		s.Seconds[p.index] = p.response.Quantiles()
	}
}

func (s *Step) quantiles() [Populations]*Quantiles {
	return [Populations]*Quantiles{
		Response: &s.Response, Service: &s.Service, Reject: &s.Reject, LateResponse: &s.Late, Lag: &s.Lag,
	}
}

// settle lets go of what is final at now: seconds, and the step itself, that
// ended long ago and of which nothing is open.
func (s *Step) settle(now time.Duration, spare *spares) {
	kept := s.pending[:0]
	for _, p := range s.pending {
		end := s.Info.Start + time.Duration(p.index+1)*HistWindow
		if now < end+settleAfter || s.openIn(p.index) {
			kept = append(kept, p)
			continue
		}
		s.Seconds[p.index] = p.response.Quantiles()
		spare.give(p.response)
	}
	clear(s.pending[len(kept):])
	s.pending = kept

	over := now >= s.Info.Start+s.Info.Duration+settleAfter && s.Total.Open() == 0
	if s.settled = over && len(s.pending) == 0; s.settled {
		s.refresh(spare)
		for class := range s.kept {
			for p := range s.kept[class] {
				s.kept[class][p].close(spare)
			}
		}
	}
}

// openIn reports whether originals of second i have not ended.
func (s *Step) openIn(i int) bool {
	for w := i * windowsPerSecond; w < min((i+1)*windowsPerSecond, len(s.ByPlanned)); w++ {
		if s.ByPlanned[w].Open() > 0 {
			return true
		}
	}
	return false
}

// finish turns what is open into endings: the run was killed. What was sent is
// unfinished; what was not is withheld, as the client still held it.
func (s *Step) finish() (ended Counts) {
	for class := range s.ByClass {
		t := &s.ByClass[class]
		c := closing(t.Counts)
		t.Counts.Add(c)
		s.Total.Counts.Add(c)
		if c.Withheld > 0 {
			t.count(Withheld, reasonKilled, c.Withheld)
			s.Total.count(Withheld, reasonKilled, c.Withheld)
		}
		ended.Add(c)
	}
	for w := range s.ByPlanned {
		s.ByPlanned[w].Add(closing(s.ByPlanned[w]))
	}
	return ended
}

// reasonKilled is why an original was never sent that a killed run still held.
const reasonKilled = "killed"

// closing returns the endings of what is open in c.
func closing(c Counts) Counts {
	open := c.Open()
	held := min(c.held(), open)
	return Counts{Withheld: held, Unfinished: open - held}
}

// grown returns s with at least i+1 elements.
func grown[T any](s []T, i int) []T {
	if i < len(s) {
		return s
	}
	return append(s, make([]T, i+1-len(s))...)
}
