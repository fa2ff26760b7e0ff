package analysis

import (
	"strings"
	"testing"

	"knee/analysis/knee"
	"knee/generator/record"
)

// overloaded returns the loads of a server with a capacity of 500/s whose rejections
// cost the share q of a success. A search repeats a load at nearly the same rate.
func overloaded(q float64, lost record.Kind) []Step {
	var all []Step
	for pass := range 3 {
		for _, at := range []float64{200, 400, 500, 800, 1200, 2000, 3000, 4500} {
			at *= 1 + 0.01*float64(pass)
			good := min(at, max(0, (500-q*at)/(1-q)))
			s := Step{IntendedRPS: at, OfferedRPS: at, GoodputRPS: good, DurationS: 10, Valid: true}
			s.Counts = Counts{Planned: uint64(10 * at), Sent: uint64(10 * at), Attempts: uint64(10 * at), Good: uint64(10 * good)}
			s.GoodDuring = s.Counts.Good
			switch n := s.Counts.Sent - s.Counts.Good; lost {
			case record.Rejected:
				s.Counts.Rejected = n
			case record.Late:
				s.Counts.Late = n
			default: // of both
				s.Counts.Rejected, s.Counts.Late = n-n/2, n/2
			}
			all = append(all, s)
		}
	}
	return all
}

var kneeAt500 = knee.Result{Verdict: knee.Found, RPS: 500}

func TestRejectionCost(t *testing.T) {
	for _, q := range []float64{0.01, 0.05, 0.1} {
		r := rejectionOf(overloaded(q, record.Rejected), kneeAt500, wall())
		if r.Verdict != "measured" || r.Q == nil || *r.Q < 0.9*q || *r.Q > 1.1*q || *r.QLow > q || *r.QHigh < q {
			t.Errorf("q %v: %s (%s), %v in %v to %v", q, r.Verdict, r.Why, show(r.Q), show(r.QLow), show(r.QHigh))
		}
		if r.CollapseRPS == nil || *r.CollapseRPS < 0.9*500/q || *r.CollapseRPS > 1.1*500/q {
			t.Errorf("q %v: rejections alone fill it at %v, want %v", q, show(r.CollapseRPS), 500/q)
		}
	}
	free := rejectionOf(overloaded(0, record.Rejected), kneeAt500, wall())
	if free.Verdict != "measured" || *free.QLow != 0 || *free.QHigh > 0.01 || free.CollapseRPS != nil {
		t.Errorf("for nothing: %+v", free)
	}
}

func TestRejectionCostThatIsNotSeen(t *testing.T) {
	tried := overloaded(0.05, record.Rejected)
	for i := range tried {
		tried[i].Counts.Attempts *= 2
	}
	broken := overloaded(0.05, record.Rejected)
	for i := range broken {
		broken[i].Valid = broken[i].IntendedRPS < 1000
	}
	several := wall()
	several.Topology = &Topology{}
	for name, c := range map[string]struct {
		steps   []Step
		k       knee.Result
		m       Meta
		verdict string
		why     string
	}{
		"nothing rejected": {overloaded(0.05, record.Late), kneeAt500, wall(), "not_tested", "nothing was rejected"},
		"late as well":     {overloaded(0.05, record.Timeout), kneeAt500, wall(), "inconclusive", "answers late"},
		"tried again":      {tried, kneeAt500, wall(), "not_tested", "callers send again"},
		"no knee":          {overloaded(0.05, record.Rejected), knee.Result{Verdict: knee.NoKnee}, wall(), "not_tested", "no knee"},
		"several servers":  {overloaded(0.05, record.Rejected), kneeAt500, several, "not_tested", "several servers"},
		"one load past it": {broken, kneeAt500, wall(), "not_tested", "too few loads"},
	} {
		r := rejectionOf(c.steps, c.k, c.m)
		if r.Verdict != c.verdict || !strings.Contains(r.Why, c.why) || r.Q != nil {
			t.Errorf("%s: %s (%s), %v; want %s that says %q", name, r.Verdict, r.Why, show(r.Q), c.verdict, c.why)
		}
	}
}
