package analysis

import (
	"knee/analysis/knee"
	"knee/analysis/plateau"
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

// rps is the load that the server can carry: the knee, else what is declared; 0 when
// neither is known.
func (k Knee) rps(m Meta) float64 {
	if k.RPS != nil {
		return *k.RPS
	}
	return m.CapacityRPS
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

func positive(v float64) *float64 {
	if v <= 0 {
		return nil
	}
	return &v
}
