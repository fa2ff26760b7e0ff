package analysis

import (
	"math"
	"testing"
	"time"

	"knee/generator/record"
)

// priced returns five passes over the loads of a server that takes 20 ms of CPU for a
// success, and the share q of that for a rejection, with what it used for each.
func pricedRun(q float64, noise func(i int) float64) (*record.Series, Meta) {
	m := Meta{Run: Run{Clock: Virtual}, Timeout: timeout, CapacityRPS: 50, Stage: "headers"}
	const success = 0.020
	var all []stretch
	for block := range 5 {
		for _, x := range []float64{0.4, 0.8, 1.2, 1.5, 2, 3, 5, 7, 10} {
			offered := 50 * x
			good := math.Round(min(offered, max(0, (50-q*offered)/(1-q)))) / offered
			s := stretch{phase: "price", trial: len(all), rate: offered, length: time.Second, good: math.Round(100*good) / 100}
			// The made-up run goes by hundredths.
			n := math.Round(offered)
			done := 0.0
			for k := range int(n) {
				if float64(k%100)/100 < s.good {
					done++
				}
			}
			cpu := success * (done + q*(n-done)) * noise(len(all))
			m.ServerUse = append(m.ServerUse, ServerUse{Trial: len(all), Stage: "headers", Block: block, WallS: 1.4, CPUS: cpu + 0.003})
			all = append(all, s)
		}
	}
	return madeUp(all...), m
}

func TestPriceOfARejection(t *testing.T) {
	for _, q := range []float64{0.005, 0.02, 0.1} {
		for name, noise := range map[string]func(int) float64{
			"exact":      func(int) float64 { return 1 },
			"2 per cent": func(i int) float64 { return 1 + 0.02*math.Sin(float64(7*i*i)) },
		} {
			series, m := pricedRun(q, noise)
			r := Analyze(series, m).Rejection
			if r.Verdict != "measured" || r.Q == nil {
				t.Fatalf("q %v, %s: %s %s", q, name, r.Verdict, r.Why)
			}
			if off := math.Abs(*r.Q - q); off > 0.005 && off > 0.1*q {
				t.Errorf("q %v, %s: %v", q, name, *r.Q)
			}
			if *r.QLow > *r.Q || *r.QHigh < *r.Q {
				t.Errorf("q %v, %s: %v is not from %v to %v", q, name, *r.Q, *r.QLow, *r.QHigh)
			}
			if us := *r.SuccessCPUUS; us < 19_000 || us > 21_000 {
				t.Errorf("q %v, %s: a success takes %v µs, want 20,000", q, name, us)
			}
			if len(r.Stages) != 1 || r.Stages[0].Stage != "headers" {
				t.Errorf("stages %+v, want headers alone", r.Stages)
			}
			if full := *r.CollapseRPS; full < 0.8*50/q || full > 1.3*50/q {
				t.Errorf("q %v, %s: full of rejections at %v/s, want %v", q, name, full, 50/q)
			}
		}
	}
}

// Whoever refuses at another stage is another server: its loads are no part of the
// curve, and its price is not that of the profile.
func TestPricesAreKeptApart(t *testing.T) {
	series, m := pricedRun(0.02, func(int) float64 { return 1 })
	for i := range m.ServerUse {
		if m.ServerUse[i].Block == 4 {
			m.ServerUse[i].Stage = "late"
			m.ServerUse[i].CPUS *= 2
		}
	}
	r := Analyze(series, m)
	if n := len(r.Rejection.Stages); n != 2 || r.Rejection.Stages[1].Stage != "late" {
		t.Fatalf("stages %+v, want headers and late", r.Rejection.Stages)
	}
	if us := *r.Rejection.SuccessCPUUS; us > 21_000 {
		t.Errorf("a success takes %v µs at the stage of the profile: the other one takes 40,000", us)
	}
	if n := len(measured(series.Steps(), r.Steps, m)); n != 36 {
		t.Errorf("the curve has %d loads, want 36: four passes of nine", n)
	}
}

// A load that was not really offered says nothing of a price.
func TestALimitedGeneratorPricesNothing(t *testing.T) {
	series, m := pricedRun(0.02, func(int) float64 { return 1 })
	steps := Analyze(series, m).Steps
	for i := range steps {
		steps[i].Valid = false
	}
	if s := priceOf("headers", m.ServerUse, series.Steps(), steps, m); s.Q != nil || s.Verdict == "measured" {
		t.Errorf("%s, q %v: want no price", s.Verdict, s.Q)
	}
}
