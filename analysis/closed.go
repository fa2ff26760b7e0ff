package analysis

import (
	"cmp"
	"slices"

	"knee/analysis/usl"
	"knee/generator/record"
)

// ClosedLoop is the name of the steps in which each caller waits for its answer before it
// sends again. They are no part of any answer about offered load.
const ClosedLoop = "closed"

// ClosedTrial is what is known of a closed-loop trial beside its records.
type ClosedTrial struct {
	Trial    int      `json:"trial"`
	Callers  int      `json:"callers"`
	CPUShare *float64 `json:"cpu_share"` // of one CPU, used by the server; nil when unknown
}

// Closed is what a closed-loop sweep of concurrency saw. A server that is slow slows its
// callers here, and looks better than it is: this is a second opinion on what a server
// can do at most, and no answer to an offered load.
type Closed struct {
	Points []ClosedPoint `json:"points"` // by concurrency
	Why    string        `json:"why"`    // why no law was fitted
	// The Universal Scalability Law through the points; nil when it was not fitted.
	GammaRPS *float64 `json:"gamma_rps"` // throughput of one caller alone
	Sigma    *float64 `json:"sigma"`     // contention
	Kappa    *float64 `json:"kappa"`     // coherency
	PeakN    *float64 `json:"peak_n"`    // where throughput is highest; nil when beyond what was tested
	PeakRPS  *float64 `json:"peak_rps"`
	RMS      *float64 `json:"rms"` // of the residuals, as shares of the fit
}

// ClosedPoint is one concurrency.
type ClosedPoint struct {
	Callers    int      `json:"callers"`
	GoodputRPS float64  `json:"goodput_rps"` // median of the trials
	OtherShare float64  `json:"other_share"` // of the requests, that were not good
	P50MS      *float64 `json:"p50_ms"`
	P99MS      *float64 `json:"p99_ms"`
	CPUShare   *float64 `json:"cpu_share"` // of one CPU, used by the server
	Residual   *float64 `json:"residual"`  // (measured - fitted) / fitted; nil without a fit
	Trials     int      `json:"trials"`
}

// fitted is the share of requests that may not be good at a concurrency that the law is
// fitted to: it knows of no refusals.
const fitted = 0.05

// closedOf returns what a closed-loop sweep saw; nil when there was none.
func closedOf(recorded []*record.Step, steps []Step, m Meta) *Closed {
	if len(m.Closed) == 0 {
		return nil
	}
	trials := map[int]ClosedTrial{}
	for _, t := range m.Closed {
		trials[t.Trial] = t
	}
	byCallers := map[int][]Step{}
	cpu := map[int][]float64{}
	for i, s := range recorded {
		t, ok := trials[s.Info.Trial]
		if !ok || s.Info.Phase != ClosedLoop || steps[i].Counts.Sent == 0 || isCut(steps[i]) {
			continue
		}
		byCallers[t.Callers] = append(byCallers[t.Callers], steps[i])
		if t.CPUShare != nil {
			cpu[t.Callers] = append(cpu[t.Callers], *t.CPUShare)
		}
	}
	out := &Closed{Points: []ClosedPoint{}}
	for callers, of := range byCallers {
		out.Points = append(out.Points, closedPoint(callers, of, cpu[callers]))
	}
	slices.SortFunc(out.Points, func(a, b ClosedPoint) int { return cmp.Compare(a.Callers, b.Callers) })
	out.fit()
	return out
}

func closedPoint(callers int, of []Step, cpu []float64) ClosedPoint {
	p := ClosedPoint{Callers: callers, Trials: len(of)}
	var goodput, p50, p99 []float64
	var good, sent uint64
	for _, s := range of {
		goodput = append(goodput, s.GoodputRPS)
		good, sent = good+s.Counts.Good, sent+s.Counts.Sent
		if s.ResponseMS.P50 != nil {
			p50 = append(p50, *s.ResponseMS.P50)
		}
		if s.ResponseMS.P99 != nil {
			p99 = append(p99, *s.ResponseMS.P99)
		}
	}
	p.GoodputRPS = middle(goodput)
	p.OtherShare = 1 - float64(good)/float64(sent)
	for _, q := range []struct {
		values []float64
		to     **float64
	}{{p50, &p.P50MS}, {p99, &p.P99MS}, {cpu, &p.CPUShare}} {
		if len(q.values) > 0 {
			*q.to = some(middle(q.values))
		}
	}
	return p
}

// middle returns the median of values, of which there are some.
func middle(values []float64) float64 {
	slices.Sort(values)
	return values[len(values)/2]
}

// fit fits the law to the concurrencies at which nearly every request was good.
func (c *Closed) fit() {
	var points []usl.Point
	for _, p := range c.Points {
		if p.GoodputRPS > 0 && p.OtherShare <= fitted {
			points = append(points, usl.Point{N: float64(p.Callers), X: p.GoodputRPS})
		}
	}
	f, err := usl.Of(points)
	if err != nil {
		c.Why = err.Error()
		return
	}
	c.GammaRPS, c.Sigma, c.Kappa, c.RMS = some(f.Gamma), some(f.Sigma), some(f.Kappa), some(f.RMS)
	if f.PeakN <= points[len(points)-1].N {
		c.PeakN, c.PeakRPS = some(f.PeakN), some(f.PeakX)
	}
	at := 0
	for i := range c.Points {
		p := &c.Points[i]
		if at < len(points) && points[at].N == float64(p.Callers) {
			p.Residual = some(f.Residuals[at])
			at++
		}
	}
}
