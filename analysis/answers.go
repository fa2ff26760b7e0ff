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
		Certified:     m.Bracket != [2]float64{},
		Flags:         append([]string{}, k.Flags...),
		Why:           k.Why,
	}
	if out.RPS != nil && m.CapacityRPS > 0 {
		out.X = some(k.RPS / m.CapacityRPS)
	}
	return out
}

// kneeOptions say what a good load is, and what is known of where it ends.
func (m Meta) kneeOptions() knee.Options {
	return knee.Options{Eps: m.Eps, Width: m.Width, Low: m.Bracket[0], High: m.Bracket[1]}
}

// kneesByClass returns the load of all classes together up to which nearly every
// request of each class is answered in time; nil when there is only one. A server that
// sheds by criticality has one knee for each.
func kneesByClass(steps []Step, m Meta) map[string]Knee {
	points := map[string][]knee.Point{}
	for _, s := range steps {
		for name, c := range s.ByClass {
			sent := c.Counts.Sent + c.Counts.Withheld
			if sent == 0 {
				continue
			}
			share := float64(c.Counts.Good) / float64(sent)
			points[name] = append(points[name], knee.Point{
				Offered: s.OfferedRPS, Intended: s.IntendedRPS, Goodput: s.OfferedRPS * share,
				Sent: sent, Good: c.Counts.Good, Limited: !s.Valid,
			})
		}
	}
	if len(points) < 2 {
		return nil
	}
	m.Bracket = [2]float64{} // it is of all classes together
	knees := map[string]Knee{}
	for name, of := range points {
		knees[name] = kneeOf(knee.Find(of, m.kneeOptions()), m)
	}
	return knees
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
