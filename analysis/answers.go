package analysis

import (
	"fmt"
	"slices"

	"knee/analysis/knee"
	"knee/analysis/plateau"
)

// Verdicts of Generator.
const (
	generatorOK      = "ok"
	generatorSuspect = "suspect"
	generatorLimited = "limited"
)

// kneeOf turns the knee of the curve into its place in the result.
func kneeOf(k knee.Result, m Meta) Knee {
	out := Knee{
		Verdict:       k.Verdict,
		RPS:           positive(k.RPS),
		LowRPS:        positive(k.Low),
		HighRPS:       positive(k.High),
		SaturationRPS: positive(k.Saturation),
		Certified:     m.Certified,
		Flags:         append([]string{}, k.Flags...),
		Why:           k.Why,
	}
	if out.RPS != nil && m.CapacityRPS > 0 {
		out.X = some(k.RPS / m.CapacityRPS)
	}
	return out
}

// plateauOf turns the judgement of the plateau into its place in the result.
func plateauOf(p plateau.Result) Plateau {
	out := Plateau{
		Verdict:     p.Verdict,
		Retention:   []Retention{},
		TestedToX:   positive(p.TestedToX),
		CollapseRPS: positive(p.CollapseRPS),
		Why:         p.Why,
	}
	if p.Judged {
		out.MinRetention = some(p.MinRetention)
	}
	for _, r := range p.Retention {
		out.Retention = append(out.Retention, Retention(r))
	}
	return out
}

// CurveResult is what `knee analyze` prints: the answers that a curve alone can
// give. Rates are in the units of its file.
type CurveResult struct {
	Schema   string   `json:"schema"`
	Knee     Knee     `json:"knee"`
	Plateau  Plateau  `json:"plateau"`
	Warnings []string `json:"warnings"`
}

// Curve judges a curve measured by any tool.
func Curve(points []knee.Point) *CurveResult {
	k := knee.Find(points, knee.Options{})
	return &CurveResult{
		Schema:   Schema,
		Knee:     kneeOf(k, Meta{}),
		Plateau:  plateauOf(plateau.Judge(points, k, plateau.Options{})),
		Warnings: []string{},
	}
}

// generatorOf says whether the loads of a run were really offered.
func generatorOf(steps []Step, m Meta) Generator {
	if m.Run.Clock == Virtual {
		g := Generator{Verdict: generatorOK}
		if why := limitedSteps(steps); why != "" {
			g.Verdict, g.Why = generatorLimited, why
		}
		return g
	}
	g := Generator{Verdict: generatorOK, CPUShare: m.CPUShare}
	worst := 0.0
	for _, s := range steps {
		if s.LagMS.P99 != nil && s.Phase != Drain && s.Phase != Settle && !s.SetAside {
			worst = max(worst, *s.LagMS.P99)
			g.LagP99MS = some(worst)
		}
	}
	switch why := limitedSteps(steps); {
	case why != "":
		g.Verdict, g.Why = generatorLimited, why
	case worst > uneasyLag*ms(m.patience()):
		g.Verdict, g.Why = generatorSuspect, fmt.Sprintf("the lag p99 of some load was %.1f ms, above a twentieth of the timeout", worst)
	}
	return g
}

// limitedSteps says which loads could not be offered; "" when all could.
func limitedSteps(steps []Step) string {
	var limited []Step
	for _, s := range steps {
		if isLimited(s) && !s.SetAside {
			limited = append(limited, s)
		}
	}
	if len(limited) == 0 {
		return ""
	}
	first := slices.MinFunc(limited, func(a, b Step) int { return int(a.IntendedRPS - b.IntendedRPS) })
	return fmt.Sprintf("%d of %d steps could not be offered, from %.4g/s on: %s", len(limited), len(steps), first.IntendedRPS, first.Why)
}

func positive(v float64) *float64 {
	if v <= 0 {
		return nil
	}
	return &v
}
