package analysis

import (
	"fmt"
	"slices"

	"knee/analysis/rejection"
	"knee/analysis/stat"
	"knee/generator/record"
)

// ServerUse is what the server used for one trial, from rest to rest: everything
// that the trial asked of it, and nothing else.
type ServerUse struct {
	Trial    int     `json:"trial"`
	Stage    string  `json:"stage"`    // at which the server said no; "" when nobody knows
	Block    int     `json:"block"`    // the pass over the loads, from 0
	WallS    float64 `json:"wall_s"`   // between the two looks
	CPUS     float64 `json:"cpu_s"`    // of its process; 0 when it is not known
	WorkersS float64 `json:"worker_s"` // of its workers, where these are what is short and not CPU
}

// Hot is a function of the server and what it takes of the CPU for each rejection.
type Hot struct {
	Function    string  `json:"function"`
	PerRejectUS float64 `json:"per_reject_us"` // in the function itself
}

// Priced is the name of the steps that only show whether rejections alone fill the
// server at the load that was foretold.
const Priced = "priced"

// stages are the shed stages, the earliest first.
var stages = []string{"accept", "headers", "handler", "late"}

// pricesOf says what a rejection costs at each stage, from what the server used.
// top is the answer for the stage that the profile names.
func pricesOf(recorded []*record.Step, steps []Step, m Meta) (top RejectionStage, all []RejectionStage) {
	byStage := map[string][]ServerUse{}
	for _, u := range m.ServerUse {
		byStage[u.Stage] = append(byStage[u.Stage], u)
	}
	all = []RejectionStage{}
	for _, stage := range append([]string{""}, stages...) {
		uses := byStage[stage]
		if len(uses) == 0 {
			continue
		}
		s := priceOf(stage, uses, recorded, steps, m)
		if stage != "" {
			all = append(all, s)
		}
		if stage == m.Stage || stage == "" {
			top = s
		}
	}
	return top, all
}

// priceOf returns the price at one stage.
func priceOf(stage string, uses []ServerUse, recorded []*record.Step, steps []Step, m Meta) RejectionStage {
	out := RejectionStage{Stage: stage, Hot: m.Hot[stage]}
	var byCPU, byWorkers, loads []rejection.Trial
	most := 0.0
	for _, u := range uses {
		if _, load, ok := trialOf(u, recorded, steps); ok {
			most = max(most, load.Good)
		}
	}
	for _, u := range uses {
		t, load, ok := trialOf(u, recorded, steps)
		if !ok || load.Good < left*most {
			continue
		}
		loads = append(loads, load)
		if u.CPUS > 0 {
			t.CPU = u.CPUS / u.WallS
			byCPU = append(byCPU, t)
		}
		if u.WorkersS > 0 {
			t.CPU = u.WorkersS / u.WallS
			byWorkers = append(byWorkers, t)
		}
	}
	cpu := rejection.FromCPU(byCPU)
	c := cpu
	if len(byWorkers) > 0 {
		c = rejection.FromCPU(byWorkers)
	}
	out.Verdict, out.Why = string(c.Verdict), c.Why
	if cpu.Verdict == rejection.Measured {
		out.SuccessCPUUS, out.RejectCPUUS = some(1e6*cpu.Success), some(1e6*cpu.Rejection)
	}
	if c.Verdict != rejection.Measured {
		return out
	}
	fill(&c, loads)
	out.Q, out.QLow, out.QHigh = some(c.Q), finite(c.Low), finite(c.High)
	out.CollapseRPS = finite(c.Collapse)
	out.LostPer1000, out.Retention10X = some(1000*c.Lost()), some(c.Retention(10))
	out.ByReason = c.ByReason
	out.Checked = checked(stage, recorded, steps, m)
	return out
}

// left is the share of the goodput below which a load says nothing of the price: past
// the collapse there is nothing to say no with, and a rejection costs what it is given.
const left = 0.2

// fill says how much the server has to spend, from the loads at which it was full,
// and so which load of rejections alone fills it.
func fill(c *rejection.Cost, loads []rejection.Trial) {
	most := 0.0
	for _, l := range loads {
		most = max(most, l.Good)
	}
	var spent []float64
	for _, l := range loads {
		if l.Offered > 1.2*most {
			sum := c.Success * (l.Good + l.Late)
			for _, n := range l.Rejected {
				sum += c.Rejection * n
			}
			spent = append(spent, sum)
		}
	}
	if len(spent) > 0 {
		c.Fill(stat.Median(spent))
	}
}

// trialOf returns what a use bought, per second of the whole time between the two
// looks, and per second of the step of the load alone. It is not ok when the load
// was not really offered.
func trialOf(u ServerUse, recorded []*record.Step, steps []Step) (whole, load rejection.Trial, ok bool) {
	whole.Rejected = map[string]float64{}
	for i, s := range recorded {
		if s.Info.Trial != u.Trial {
			continue
		}
		add(&whole, steps[i], u.WallS)
		if s.Info.Phase == Settle || s.Info.Phase == Drain {
			continue
		}
		if !steps[i].Valid {
			return whole, load, false
		}
		load.Rejected = map[string]float64{}
		add(&load, steps[i], steps[i].DurationS)
		whole.Load, ok = steps[i].IntendedRPS, true
	}
	whole.Block = u.Block
	return whole, load, ok && u.WallS > 0
}

// add adds what became of the requests of a step. Those that nobody waited for any
// longer count as late: a server that was asked for them did them, or would have.
func add(t *rejection.Trial, s Step, seconds float64) {
	t.Offered += float64(s.Counts.Sent) / seconds
	t.Good += float64(s.Counts.Good) / seconds
	t.Late += float64(s.Counts.Late+s.Counts.Timeout) / seconds
	for reason, n := range s.RejectedByReason {
		t.Rejected[reason] += float64(n) / seconds
	}
}

// checked says what was left at the load at which rejections alone fill the server.
func checked(stage string, recorded []*record.Step, steps []Step, m Meta) *Collapse {
	for i, s := range recorded {
		if s.Info.Phase == Priced && m.priced(s.Info.Trial) == stage {
			return &Collapse{OfferedRPS: steps[i].OfferedRPS, GoodputRPS: steps[i].GoodputRPS, Valid: steps[i].Valid, Why: steps[i].Why}
		}
	}
	return nil
}

// priced returns the stage at which the server said no in a trial.
func (m Meta) priced(trial int) string {
	i := slices.IndexFunc(m.Prices, func(p PriceTrial) bool { return p.Trial == trial })
	if i < 0 {
		return ""
	}
	return m.Prices[i].Stage
}

// foreign reports whether a trial was offered to a server that says no elsewhere
// than the profile does: it is no point of the curve.
func (m Meta) foreign(trial int) bool {
	i := slices.IndexFunc(m.ServerUse, func(u ServerUse) bool { return u.Trial == trial })
	return i >= 0 && m.ServerUse[i].Stage != m.Stage
}

// PriceTrial is a trial of the load at which rejections alone would fill the server.
type PriceTrial struct {
	Trial int    `json:"trial"`
	Stage string `json:"stage"`
}

// rejectionPriced returns the cost of a rejection from what the server used, beside what the
// curve says of it.
func rejectionPriced(curve Rejection, recorded []*record.Step, steps []Step, m Meta) Rejection {
	top, all := pricesOf(recorded, steps, m)
	out := Rejection{
		Verdict: top.Verdict, Why: top.Why, Q: top.Q, QLow: top.QLow, QHigh: top.QHigh,
		CollapseRPS: top.CollapseRPS, SuccessCPUUS: top.SuccessCPUUS, RejectCPUUS: top.RejectCPUUS,
		LostPer1000: top.LostPer1000, Retention10X: top.Retention10X, Checked: top.Checked, Hot: top.Hot,
		Stages: all, ByReason: top.ByReason,
	}
	if out.Verdict == "" {
		out.Verdict, out.Why = string(rejection.NotTested), "the server was not watched"
	}
	if out.ByReason == nil {
		out.ByReason = map[string]float64{}
	}
	switch {
	case m.SharedCPUs:
		out.CurveWhy = "generator and server share their CPUs, so that the generator is part of the curve"
	case curve.Verdict != string(rejection.Measured):
		out.CurveWhy = curve.Why
	default:
		out.CurveQ, out.CurveQLow, out.CurveQHigh = curve.Q, curve.QLow, curve.QHigh
	}
	if out.Verdict == string(rejection.Measured) && disagree(out) {
		out.Why = fmt.Sprintf("the curve says %.3f to %.3f: something else than this costs goodput there, or less is lost than is used", *out.CurveQLow, *out.CurveQHigh)
	}
	return out
}

// disagree reports whether the intervals of both methods have nothing in common.
func disagree(r Rejection) bool {
	const near = 0.005 // what a curve of few trials can be off
	return r.CurveQLow != nil && r.CurveQHigh != nil && r.QLow != nil && r.QHigh != nil &&
		(*r.CurveQLow > *r.QHigh+near || *r.CurveQHigh < *r.QLow-near)
}

// Price says what a rejection costs at a stage, from the trials so far.
func Price(series *record.Series, m Meta, stage string) RejectionStage {
	recorded := series.Steps()
	var steps []Step
	for _, s := range recorded {
		steps = append(steps, StepOf(s, series, m))
	}
	uses := slices.DeleteFunc(slices.Clone(m.ServerUse), func(u ServerUse) bool { return u.Stage != stage })
	return priceOf(stage, uses, recorded, steps, m)
}
