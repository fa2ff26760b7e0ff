package analysis

import (
	"cmp"
	"fmt"
	"slices"

	"knee/analysis/knee"
	"knee/analysis/rejection"
)

// Shares of what came past the knee from which the curve does not tell what a
// rejection costs.
const (
	mostLate     = 0.05 // of the goodput: late answers cost what good ones do
	mostRepeated = 0.02 // of the originals: each attempt is rejected on its own
)

// repetition is how many times a load another may be to be a repetition of it: a search
// offers multiples of a knee that it knows better and better.
const repetition = 1.06

// rejectionOf says what a rejection costs, from the goodput of the measured steps
// past the knee. It takes a server whose callers try once, and that says no to
// nearly everything that it does not do in time.
func rejectionOf(measured []Step, k knee.Result, m Meta) Rejection {
	out := Rejection{Stages: []RejectionStage{}, ByReason: map[string]float64{}}
	say := func(verdict rejection.Verdict, format string, args ...any) Rejection {
		out.Verdict, out.Why = string(verdict), fmt.Sprintf(format, args...)
		return out
	}
	switch {
	case m.Topology != nil:
		return say(rejection.NotTested, "several servers answered")
	case k.Verdict != knee.Found:
		return say(rejection.NotTested, "no knee was found, past which it shows")
	}
	var trials []rejection.Trial
	var past Counts
	valid := slices.DeleteFunc(slices.Clone(measured), func(s Step) bool { return !s.Valid })
	slices.SortStableFunc(valid, func(a, b Step) int { return cmp.Compare(a.IntendedRPS, b.IntendedRPS) })
	load, block := 0.0, 0
	for _, s := range valid {
		if s.IntendedRPS > load*repetition {
			load, block = s.IntendedRPS, -1
		}
		block++
		p := Point(s)
		trials = append(trials, rejection.Trial{Block: block, Load: load, Offered: p.Offered, Good: p.Goodput})
		if s.IntendedRPS > k.RPS {
			past.Add(s.Counts)
		}
	}
	switch {
	case past.Rejected == 0:
		return say(rejection.NotTested, "nothing was rejected past the knee")
	case float64(past.Late+past.Timeout) > mostLate*float64(past.Good):
		return say(rejection.Inconclusive, "the server answers late beside its rejections, which costs as well")
	case float64(past.Attempts) > (1+mostRepeated)*float64(past.Sent):
		return say(rejection.NotTested, "callers send again what was rejected")
	}
	c := rejection.FromCurve(trials, k.RPS)
	if c.Verdict != rejection.Measured {
		return say(c.Verdict, "%s", c.Why)
	}
	out.Verdict, out.Q, out.QLow, out.QHigh = string(c.Verdict), some(c.Q), finite(c.Low), finite(c.High)
	out.CollapseRPS = finite(c.Collapse)
	return out
}
