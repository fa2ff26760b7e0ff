package paired

import (
	"fmt"
	"math"
	"slices"

	"knee/analysis/stat"
)

// The verdicts.
const (
	Pass         = "pass"         // no worse than the margin allows
	Fail         = "fail"         // worse than that
	Inconclusive = "inconclusive" // neither is sure
	NotTested    = "not_tested"   // neither build has a value
)

// Options say how sure a verdict is.
type Options struct {
	Alpha float64 // chance at most that a candidate that is no worse fails, by any metric; 0: 0.01
	Beta  float64 // chance at most, for each metric, that one that is worse more often than not passes; 0: 0.05
	Most  int     // blocks in all, those that are void among them; 0: 30
}

// mostVoid is the share of void blocks beyond which a machine is too noisy.
const mostVoid = 0.3

// silent is how many blocks without a value say that a metric will never have one.
const silent = 7

// A Block is one run of each build, one right after the other, in an order that a
// fair coin decided.
type Block struct {
	Base, Candidate []float64 // a value for each metric; NaN when there is none
	Void            string    // why it does not count, decided without a look at the values; "": it does
}

// An Outcome is what the blocks say of one metric.
type Outcome struct {
	Metric  Metric
	Verdict string
	Why     string
	Blocks  int // that have a value
	Worse   int // of these, in which the candidate was worse by more than the margin
	// Medians of the values; NaN when there are none.
	Base, Candidate float64
	// Median of the change as a share of the baseline's value, with an order-statistic
	// interval of at least 95%, infinite when there are fewer than six; NaN when there is
	// none.
	Change, Low, High float64
	// The evidence for and against: products of bets, of which either is beyond 1/x with
	// a chance of at most x when it is wrong.
	ForWorse, ForNoWorse float64
}

// A Gate judges blocks as they come. It may be asked after each of them: the sign
// test by betting behind it stays valid however often it is looked at (Ville's
// inequality), and its only assumption is the coin.
type Gate struct {
	metrics  []Metric
	opt      Options
	evidence []stat.EProcess
	outcomes []Outcome
	values   [][2][]float64 // of each metric, baseline's and candidate's
	changes  [][]float64
	blocks   int
	counted  int
	void     []string
}

// New returns a gate that has seen nothing.
func New(metrics []Metric, o Options) *Gate {
	if o.Alpha == 0 {
		o.Alpha = 0.01
	}
	if o.Beta == 0 {
		o.Beta = 0.05
	}
	if o.Most == 0 {
		o.Most = 30
	}
	g := &Gate{metrics: metrics, opt: o}
	g.evidence = make([]stat.EProcess, len(metrics))
	g.outcomes = make([]Outcome, len(metrics))
	g.values = make([][2][]float64, len(metrics))
	g.changes = make([][]float64, len(metrics))
	return g
}

// Add takes in the next block.
func (g *Gate) Add(b Block) {
	g.blocks++
	if b.Void != "" {
		g.void = append(g.void, b.Void)
		return
	}
	g.counted++
	for i, m := range g.metrics {
		base, candidate := b.Base[i], b.Candidate[i]
		worse, ok := m.compare(base, candidate)
		if !ok {
			continue
		}
		for which, v := range []float64{base, candidate} {
			if known(v) {
				g.values[i][which] = append(g.values[i][which], v)
			}
		}
		if c := m.change(base, candidate); known(c) {
			g.changes[i] = append(g.changes[i], c)
		}
		out, e := &g.outcomes[i], &g.evidence[i]
		e.Add(!worse)
		out.Blocks++
		if worse {
			out.Worse++
		}
		if out.Verdict != "" {
			continue // a verdict that was given stays
		}
		switch {
		case e.IsBad(g.opt.Alpha / float64(len(g.metrics))):
			out.Verdict = Fail
		case e.IsGood(g.opt.Beta):
			out.Verdict = Pass
		}
	}
}

// Done reports whether more blocks would change nothing, or are too many.
func (g *Gate) Done() bool {
	if g.blocks >= g.opt.Most || g.Noisy() && len(g.void) > int(mostVoid*float64(g.opt.Most)) {
		return true
	}
	open := false
	for _, o := range g.outcomes {
		switch {
		case o.Verdict == Fail:
			return true
		case o.Verdict == "" && (o.Blocks > 0 || g.counted < silent):
			open = true
		}
	}
	return !open
}

// Blocks returns how many blocks there were, and why those that are void are.
func (g *Gate) Blocks() (n int, void []string) { return g.blocks, slices.Clone(g.void) }

// Noisy reports whether so many blocks are void that the machine cannot be relied on.
// What failed has failed all the same: that rests on the coin, and not on the machine.
func (g *Gate) Noisy() bool { return float64(len(g.void)) > mostVoid*float64(g.blocks) }

// Outcomes returns what there is to say of each metric, in their order.
func (g *Gate) Outcomes() []Outcome {
	all := slices.Clone(g.outcomes)
	for i := range all {
		o := &all[i]
		o.Metric = g.metrics[i]
		o.Base, o.Candidate = stat.Median(g.values[i][0]), stat.Median(g.values[i][1])
		o.Change, o.Low, o.High = math.NaN(), math.NaN(), math.NaN()
		if c := g.changes[i]; len(c) > 0 {
			o.Change = stat.Median(c)
			o.Low, o.High, _ = stat.QuantileInterval(c, 0.5, 0.95)
		}
		if e := g.evidence[i]; e.Trials > 0 {
			o.ForWorse, o.ForNoWorse = e.Bad, e.Good
		}
		g.explain(o)
	}
	return all
}

// explain gives an outcome without a verdict one, and says why.
func (g *Gate) explain(o *Outcome) {
	switch {
	case o.Verdict == Fail:
		o.Why = fmt.Sprintf("worse in %d of %d blocks", o.Worse, o.Blocks)
	case o.Blocks == 0:
		o.Verdict, o.Why = NotTested, "neither build has a value"
	case g.Noisy():
		o.Verdict, o.Why = Inconclusive, fmt.Sprintf("noisy machine: %d of %d blocks are void", len(g.void), g.blocks)
	case o.Verdict == Pass && o.Worse > 0:
		o.Why = fmt.Sprintf("worse in %d of %d blocks", o.Worse, o.Blocks)
	case o.Verdict == "":
		o.Verdict = Inconclusive
		o.Why = fmt.Sprintf("worse in %d of %d blocks: neither is sure", o.Worse, o.Blocks)
		if g.blocks < g.opt.Most {
			o.Why = fmt.Sprintf("the gate ended after %d blocks, before this was sure", g.blocks)
		}
	}
}
