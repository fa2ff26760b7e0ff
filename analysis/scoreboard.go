package analysis

import (
	"time"

	"knee/analysis/recovery"
	"knee/generator/record"
)

// ScoreboardSchema is the version of Scoreboard's JSON form.
const ScoreboardSchema = "knee.compare/v1"

// A Scoreboard compares protections under one profile, a row for each: the
// content of `knee compare PROFILE --format json`.
type Scoreboard struct {
	Schema   string   `json:"schema"`
	Run      Run      `json:"run"`
	Machine  Machine  `json:"machine"`
	Profile  any      `json:"profile"` // as resolved, with the chain and the order of its own
	Capacity Capacity `json:"capacity"`
	Story    Story    `json:"story"`
	Rows     []Row    `json:"rows"`
	Warnings []string `json:"warnings"`
}

// A Story is the spike that the rows are compared by.
type Story struct {
	Of        string  `json:"of"` // profile: the phases of the profile have a spike; find: the spike that find ends with
	BeforeRPS float64 `json:"before_rps"`
	SpikeRPS  float64 `json:"spike_rps"`
	SpikeS    float64 `json:"spike_s"`
	AfterS    float64 `json:"after_s"` // how long the load went on after the spike
}

// A Row is what one chain of protections, with one order, made of the load.
// Goodput is in good answers per second of the arrivals of each stretch.
type Row struct {
	Protect      string   `json:"protect"`       // chain of protections, as --protect takes it
	Order        string   `json:"order"`         // of the queue, as --order takes it
	BeforeRPS    *float64 `json:"before_rps"`    // goodput before the spike
	SpikeRPS     *float64 `json:"spike_rps"`     // goodput in the spike
	AfterRPS     *float64 `json:"after_rps"`     // goodput right after it, for as long as the spike was
	EndRPS       *float64 `json:"end_rps"`       // goodput at the end, for as long as the spike was
	Knee         Knee     `json:"knee"`          // of the whole, found apart from the story
	Retention10x *float64 `json:"retention_10x"` // share of the reference goodput that is left at ten times the knee
	MinRetention *float64 `json:"min_retention"` // and at any load past the knee
	GoodP99MS    *float64 `json:"good_p99_ms"`   // of the stretch of the story in which it was longest
	Wasted       *float64 `json:"wasted"`        // share of what the server finished in the story that was not good
	Rejected     uint64   `json:"rejected"`      // originals of the story
	RejectedPart *float64 `json:"rejected_part"` // share of the originals of the story
	PeakQueue    *int     `json:"peak_queue"`    // most requests that waited at once in the story
	Recovery     Recovery `json:"recovery"`      // from the spike of the story
	Verdict      string   `json:"verdict"`       // holds, declines, collapses, slow, stuck or unknown
	Why          string   `json:"why"`
}

// The verdicts of a row, from best to worst.
const (
	RowHolds     = "holds"     // goodput stays on its plateau past the knee, and comes back after the spike
	RowDeclines  = "declines"  // part of it is lost past the knee
	RowCollapses = "collapses" // less than half of it is left at some load
	RowSlow      = "slow"      // goodput comes back, but only long after the spike
	RowStuck     = "stuck"     // the spike is over, and goodput does not come back
	RowUnknown   = "unknown"   // too little was measured to say
)

// StoryOf finds the first spike in the records of a run: the stretch of one load
// before it, the spike, and what came after it in the same trial. It reports
// whether there is one.
func StoryOf(series *record.Series) (*Told, bool) {
	steps := series.Steps()
	for i, s := range steps {
		if s.Info.Phase != Spike || i == 0 || steps[i-1].Info.Trial != s.Info.Trial {
			continue
		}
		told := &Told{spike: s}
		for _, other := range steps {
			switch {
			case other.Info.Trial != s.Info.Trial || other.Info.Phase == Settle:
			case other.Info.Index < s.Info.Index:
				told.before = append(told.before, other)
			case other.Info.Index > s.Info.Index:
				told.after = append(told.after, other)
			}
		}
		if len(told.before) > 0 {
			return told, true
		}
	}
	return nil, false
}

// Told is a spike that was offered, with what was around it.
type Told struct {
	before []*record.Step
	spike  *record.Step
	after  []*record.Step
}

// Story describes the load.
func (t *Told) Story(of string) Story {
	var after time.Duration
	for _, s := range t.after {
		after += s.Info.Duration
	}
	return Story{
		Of:        of,
		BeforeRPS: t.before[len(t.before)-1].Info.Rate(),
		SpikeRPS:  t.spike.Info.Rate(),
		SpikeS:    t.spike.Info.Duration.Seconds(),
		AfterS:    after.Seconds(),
	}
}

// Inside is what a server of ours counted in a story.
type Inside struct {
	Served uint64 // requests that a worker finished
	Peak   int    // most requests that waited at once
}

// Fill writes what became of the story into r; inside is nil when it is not known.
func (t *Told) Fill(r *Row, inside *Inside) {
	var total record.Counts
	all := append(append(append([]*record.Step{}, t.before...), t.spike), t.after...)
	for _, s := range all {
		total.Add(s.Total.Counts)
		if l := latency(s.Response); l.P99 != nil && (r.GoodP99MS == nil || *l.P99 > *r.GoodP99MS) {
			r.GoodP99MS = l.P99
		}
	}
	from, to := t.spike.Info.Start, t.spike.Info.Start+t.spike.Info.Duration
	r.BeforeRPS = goodput(t.before, t.before[0].Info.Start, from)
	r.SpikeRPS = goodput([]*record.Step{t.spike}, from, to)
	if n := len(t.after); n > 0 {
		end := t.after[n-1].Info.Start + t.after[n-1].Info.Duration
		span := min(to-from, end-to)
		r.AfterRPS = goodput(t.after, to, to+span)
		r.EndRPS = goodput(t.after, end-span, end)
	}
	r.Rejected = total.Rejected
	if total.Planned > 0 {
		r.RejectedPart = some(float64(total.Rejected) / float64(total.Planned))
	}
	if inside == nil {
		return
	}
	r.PeakQueue = some(inside.Peak)
	if inside.Served > 0 {
		r.Wasted = some(max(0, 1-float64(total.Good)/float64(inside.Served)))
	}
}

// goodput returns the good originals per second among those that were planned
// from one instant to another, by whole windows.
func goodput(steps []*record.Step, from, to time.Duration) *float64 {
	var good uint64
	var windows int
	for _, s := range steps {
		for k := range int(s.Info.Duration / record.Window) {
			at := s.Info.Start + time.Duration(k)*record.Window
			if at < from || at+record.Window > to {
				continue
			}
			windows++
			if k < len(s.ByPlanned) {
				good += s.ByPlanned[k].Good
			}
		}
	}
	if windows == 0 {
		return nil
	}
	return some(float64(good) / (time.Duration(windows) * record.Window).Seconds())
}

// Judge fills in what a search for the knee found, and what both together
// amount to.
func (r *Row) Judge(found *Result) {
	r.Knee = found.Knee
	r.MinRetention = found.Plateau.MinRetention
	for _, at := range found.Plateau.Retention {
		if at.X >= nearTen {
			r.Retention10x = some(at.Retention)
			break
		}
	}
	if r.Recovery.Verdict == "" || r.Recovery.Verdict == notTested {
		r.Recovery = found.Recovery
	}
	switch p := found.Plateau; {
	case r.Recovery.Verdict == recovery.NotRecovered:
		r.Verdict, r.Why = RowStuck, r.Recovery.Why
	case p.Verdict == "collapse" || p.Verdict == "no_goodput":
		r.Verdict, r.Why = RowCollapses, p.Why
	case p.Verdict == "decline":
		r.Verdict, r.Why = RowDeclines, p.Why
	case r.Recovery.Verdict == recovery.Slow:
		r.Verdict, r.Why = RowSlow, r.Recovery.Why
	case p.Verdict == "plateau":
		r.Verdict = RowHolds
	default:
		r.Verdict, r.Why = RowUnknown, p.Verdict
		if p.Why != "" {
			r.Why += ": " + p.Why
		}
	}
}

// Unjudged says why no search for a knee was made: the row is judged by the
// story alone.
func (r *Row) Unjudged(why string) {
	r.Verdict, r.Why = RowUnknown, why
	if r.Recovery.Verdict == recovery.NotRecovered {
		r.Verdict, r.Why = RowStuck, r.Recovery.Why
	}
}

// nearTen is from which multiple of the knee on a load counts as ten times it.
const nearTen = 9.8
