package record

import (
	"fmt"
	"strings"
	"time"
)

// RecorderOptions say what a Recorder records, and where to.
type RecorderOptions struct {
	Classes []string // names of the classes, at least one
	// MaxLatency is the longest duration that is expected: the longest timeout
	// or deadline plus the grace, above 0. Histograms tell durations apart up to
	// twice as long; what is longer is counted as that, and counted apart.
	MaxLatency time.Duration
	// Sink receives each Delta and owns it: it, or whom it hands it to, calls
	// Release. It is called by the goroutine that uses the Recorder and must be
	// quick. Nil forgets.
	Sink func(*Delta)
}

// A Recorder turns what happens to originals into Deltas. It has one writer:
// its methods are called by one goroutine, in the order of the instants.
// Planned, Attempt, Unsend and End allocate nothing in the steady state.
type Recorder struct {
	classes int
	highest time.Duration
	sink    func(*Delta)
	pool    pool

	window int           // of the run's clock, that is being counted
	end    time.Duration // at which it ends
	delta  *Delta        // what happened in it
	hists  []Hist        // what was measured in its second

	steps    []*stepIndex // nil for those that are over
	arriving []slot       // by class: where Planned, Attempt and Unsend counted last
	ending   []slot       // by class: where End counted last
	reasons  map[string]string
}

// stepIndex finds the cells and histograms of a step that are being filled.
// It costs 5 bytes for each window and class of the step.
type stepIndex struct {
	start   time.Duration
	windows int
	open    int     // originals that have not ended
	cells   []int32 // by window and class: index in delta.Cells plus one, 0 when there is none
	hists   []int32 // by second and class: index in hists plus one, 0 when there is none
}

// slot remembers the cell and the histograms that a class used last.
type slot struct {
	step int // -1: nothing is remembered
	from time.Duration
	cell *Cell
	hist *Hist
}

const (
	windowsPerSecond = int(HistWindow / Window)

	// mostReasons bounds the distinct reasons of a run: a server may make them
	// up. Further ones count as otherReason.
	mostReasons = 256
	otherReason = "other"
)

// NewRecorder returns a recorder for a run that starts at 0. It panics when
// there are no classes or MaxLatency is not above 0.
func NewRecorder(o RecorderOptions) *Recorder {
	if len(o.Classes) == 0 || o.MaxLatency <= 0 {
		panic(fmt.Sprintf("record: %d classes, longest latency %v: want at least one, and above 0", len(o.Classes), o.MaxLatency))
	}
	r := &Recorder{
		classes:  len(o.Classes),
		highest:  2 * min(o.MaxLatency, LongestLatency),
		sink:     o.Sink,
		end:      Window,
		arriving: make([]slot, len(o.Classes)),
		ending:   make([]slot, len(o.Classes)),
		reasons:  map[string]string{},
	}
	if r.sink == nil {
		r.sink = (*Delta).Release
	}
	r.delta = r.pool.delta()
	r.forget()
	return r
}

// Begin tells of a step before its first arrival. Steps begin in the order of
// their indexes, from 0; any other order panics.
func (r *Recorder) Begin(s StepInfo) {
	if s.Index != len(r.steps) {
		panic(fmt.Sprintf("record: step %d begins: want step %d", s.Index, len(r.steps)))
	}
	for i, old := range r.steps {
		if old != nil && old.open == 0 {
			r.steps[i] = nil
		}
	}
	n := s.windows()
	r.steps = append(r.steps, &stepIndex{
		start:   s.Start,
		windows: n,
		cells:   make([]int32, n*r.classes),
		hists:   make([]int32, (n+windowsPerSecond-1)/windowsPerSecond*r.classes),
	})
	r.delta.Steps = append(r.delta.Steps, s)
	r.forget()
}

// Shorten tells that a step that has begun takes less time than it was to: s is
// what Begin was told, with the new duration and final rate. It is told before the step's time
// is over, and no arrival of the step is due after it.
func (r *Recorder) Shorten(s StepInfo) {
	if s.Index >= len(r.steps) {
		panic(fmt.Sprintf("record: step %d is shortened before it began", s.Index))
	}
	r.delta.Steps = append(r.delta.Steps, s)
}

// Planned counts an arrival that was due at planned.
func (r *Recorder) Planned(step, class int, planned time.Duration) {
	if planned >= r.end {
		r.roll(planned)
	}
	s := r.at(&r.arriving[class], step, class, planned)
	s.cell.Planned++
	r.steps[step].open++
}

// Attempt counts an attempt of the original that was due at planned. The attempt
// was to be sent at attemptPlanned and was sent at sent. first says that it is
// the first one of its original, hedge that it goes beside others.
func (r *Recorder) Attempt(step, class int, planned, attemptPlanned, sent time.Duration, first, hedge bool) {
	if sent >= r.end {
		r.roll(sent)
	}
	s := r.at(&r.arriving[class], step, class, planned)
	s.cell.sent(1, first, hedge)
	r.of(s.hist, Lag).Record(sent - attemptPlanned)
}

// Unsend takes back an Attempt, given by the same arguments: it could not be
// sent after all. Its lag stays.
func (r *Recorder) Unsend(step, class int, planned, _, sent time.Duration, first, hedge bool) {
	if sent < r.end-Window {
		r.unsendEarlier(step, class, planned, sent, first, hedge)
		return
	}
	r.at(&r.arriving[class], step, class, planned).cell.sent(oneLess, first, hedge)
}

// oneLess is one less when it is added.
const oneLess = ^uint64(0)

// unsendEarlier corrects a window that is over: a delta of its own says so, lest
// a later window count less than nothing.
func (r *Recorder) unsendEarlier(step, class int, planned, sent time.Duration, first, hedge bool) {
	d := r.pool.delta()
	d.Window = int(sent / Window)
	if len(r.delta.Steps) > 0 { // a sink knows of a step before it is counted in
		d.Steps = append(d.Steps, r.delta.Steps...)
		r.delta.Steps = r.delta.Steps[:0]
	}
	c, _ := d.add(step, r.steps[step].window(planned), class)
	c.sent(oneLess, first, hedge)
	r.sink(d)
}

// End counts how an original ended. e is not kept.
func (r *Recorder) End(e *Ending) {
	if e.Done >= r.end {
		r.roll(e.Done)
	}
	s := r.at(&r.ending[e.Class], e.Step, e.Class, e.Planned)
	r.steps[e.Step].open--
	switch e.Kind {
	case Good:
		s.cell.Good++
		if e.Degraded {
			s.cell.Degraded++
		}
		r.of(s.hist, Response).Record(e.Done - e.Planned)
		r.of(s.hist, Service).Record(e.Done - e.Sent)
	case Rejected:
		s.cell.Rejected++
		r.of(s.hist, Reject).Record(e.Done - e.Sent)
		r.reason(s.cell, e.Kind, e.Reason)
	case Late:
		s.cell.Late++
		r.of(s.hist, LateResponse).Record(e.Done - e.Planned)
	case Timeout:
		s.cell.Timeout++
	case Unfinished:
		s.cell.Unfinished++
	default:
		*s.cell.of(e.Kind)++
		r.reason(s.cell, e.Kind, e.Reason)
	}
}

// NextTick returns the next instant at which Tick has something to do.
func (r *Recorder) NextTick() time.Duration { return r.end }

// Tick emits the Deltas of windows that are over at now. It is to be called at
// least every Window.
func (r *Recorder) Tick(now time.Duration) {
	if now >= r.end {
		r.roll(now)
	}
}

// Flush emits everything that is pending at now.
func (r *Recorder) Flush(now time.Duration) {
	r.Tick(now)
	r.emit(true)
}

// roll ends the current window and goes on with the one that now is in.
func (r *Recorder) roll(now time.Duration) {
	w := int(now / Window)
	r.emit(w/windowsPerSecond != r.window/windowsPerSecond)
	r.window, r.end = w, time.Duration(w+1)*Window
}

// emit hands over what the current window has counted and, when asked to, what
// its second has measured.
func (r *Recorder) emit(hists bool) {
	d := r.delta
	if hists {
		d.Hists, r.hists = r.hists, d.Hists
		for _, h := range d.Hists {
			if s := r.steps[h.Step]; s != nil {
				s.hists[h.Second*r.classes+h.Class] = 0
			}
		}
	}
	if d.empty() {
		return
	}
	for i := range d.Cells {
		if s := r.steps[d.Cells[i].Step]; s != nil {
			s.cells[d.Cells[i].Window*r.classes+d.Cells[i].Class] = 0
		}
	}
	r.forget()
	d.Window = r.window
	r.delta = r.pool.delta()
	r.sink(d)
}

// forget makes the slots find their cells anew.
func (r *Recorder) forget() {
	for i := range r.arriving {
		r.arriving[i].step, r.ending[i].step = -1, -1
	}
}

// at returns s, pointing at the cell and the histograms of the originals of
// class that were planned at about planned.
func (r *Recorder) at(s *slot, step, class int, planned time.Duration) *slot {
	if s.step == step && uint64(planned-s.from) < uint64(Window) {
		return s
	}
	return r.find(s, step, class, planned)
}

func (r *Recorder) find(s *slot, step, class int, planned time.Duration) *slot {
	if step < 0 || step >= len(r.steps) || r.steps[step] == nil {
		panic(fmt.Sprintf("record: step %d has not begun, or is over", step))
	}
	index := r.steps[step]
	w := index.window(planned)

	cell := &index.cells[w*r.classes+class]
	if *cell == 0 {
		if _, moved := r.delta.add(step, w, class); moved {
			r.forget()
		}
		*cell = int32(len(r.delta.Cells))
	}
	hist := &index.hists[w/windowsPerSecond*r.classes+class]
	if *hist == 0 {
		if len(r.hists) == cap(r.hists) {
			r.forget()
		}
		r.hists = append(r.hists, Hist{Step: step, Class: class, Second: w / windowsPerSecond})
		*hist = int32(len(r.hists))
	}

	s.step, s.from = step, index.start+time.Duration(w)*Window
	s.cell, s.hist = &r.delta.Cells[*cell-1], &r.hists[*hist-1]
	return s
}

// window returns which window of the step planned is in. An instant that its
// jitter took across an edge of the step belongs to the step all the same.
func (s *stepIndex) window(planned time.Duration) int {
	return min(max(int((planned-s.start)/Window), 0), s.windows-1)
}

// windows returns how many counter windows the step has, at least one.
func (s StepInfo) windows() int {
	n := s.Duration / Window
	if s.Duration%Window > 0 {
		n++
	}
	return max(int(n), 1)
}

// of returns the histogram of one population of h.
func (r *Recorder) of(h *Hist, p Population) *Histogram {
	if h.Of[p] == nil {
		h.Of[p] = r.histogram()
	}
	return h.Of[p]
}

// histogram returns an empty histogram.
func (r *Recorder) histogram() *Histogram {
	if h := r.pool.histogram(); h != nil {
		return h
	}
	return NewHistogram(r.highest)
}

// reason counts why an original of c ended.
func (r *Recorder) reason(c *Cell, k Kind, reason string) {
	if !c.count(k, reason) {
		r.newReason(c, k, reason)
	}
}

func (r *Recorder) newReason(c *Cell, k Kind, reason string) {
	known, ok := r.reasons[reason]
	switch {
	case ok:
		reason = known
	case len(r.reasons) < mostReasons:
		reason = strings.Clone(reason) // it may point into a large answer
		r.reasons[reason] = reason
	default:
		reason = otherReason
	}
	if !c.count(k, reason) {
		c.Reasons = append(c.Reasons, Reason{Kind: k, Reason: reason, Count: 1})
	}
}
