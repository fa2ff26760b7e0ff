package plateau_test

import (
	"math"
	"math/big"
	"math/rand/v2"

	"knee/analysis/knee"
)

// truth is a curve whose knee and verdict are known in closed form.
type truth struct {
	name      string
	points    []knee.Point
	knee      float64 // 0: none
	tolerance float64
	verdict   string  // of the plateau
	next      float64 // second knee of an inversion
	at        float64 // saturation, where it is far from the knee
	soft      bool
}

// The grids, as multiples of the capacity.
var (
	usualGrid  = []float64{0.11, 0.23, 0.34, 0.46, 0.57, 0.68, 0.77, 0.86, 0.93, 0.98, 1.04, 1.11, 1.19, 1.3, 1.45, 1.7, 2.2, 3.1, 4.2, 5.3, 6.5, 8.2, 10.1}
	cliffGrid  = []float64{0.1, 0.3, 0.5, 0.7, 0.8, 0.85, 0.88, 0.9, 0.92, 0.94, 0.96, 0.97, 0.98, 0.99, 1, 1.02, 1.05, 1.1, 1.2, 1.5, 2, 3, 5, 10}
	doubleGrid = []float64{0.125, 0.25, 0.5, 0.999, 2, 4, 8, 10}
	coarseGrid = []float64{0.15, 0.23, 0.34, 0.51, 0.77, 1.15, 1.73, 2.6, 3.9, 5.8, 8.8, 13.1}
	trialGrid  = []float64{0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 1, 1.005, 1.01, 1.015, 1.02, 1.03, 1.05, 1.1, 1.2, 1.5, 2, 3, 5, 10}
)

func along(grid []float64, unit float64, f func(load float64) float64) []knee.Point {
	points := make([]knee.Point, len(grid))
	for i, x := range grid {
		points[i] = knee.Point{Offered: x * unit, Goodput: f(x * unit)}
	}
	return points
}

func steps(from, to, by float64) []float64 {
	var s []float64
	for x := from; x <= to; x += by {
		s = append(s, x)
	}
	return s
}

func hinge(c float64) func(float64) float64 {
	return func(l float64) float64 { return min(l, c) }
}

func rejecting(mu, q float64) func(float64) float64 {
	return func(l float64) float64 {
		if l <= mu {
			return l
		}
		return max(0, (mu-q*l)/(1-q))
	}
}

// mm1 is M/M/1 first in, first out, with a deadline d in seconds.
func mm1(mu, d float64) func(float64) float64 {
	return func(l float64) float64 {
		if l >= mu {
			return 0
		}
		return l * (1 - math.Exp(-(mu-l)*d))
	}
}

// mmc is M/M/c with a deadline: the tail of the sojourn time.
func mmc(c int, mu, d float64) func(float64) float64 {
	return func(l float64) float64 {
		a, n := l/mu, float64(c)
		if a >= n {
			return 0
		}
		term, sum := 1.0, 1.0
		for k := 1; k < c; k++ {
			term *= a / float64(k)
			sum += term
		}
		last := term * a / n * n / (n - a)
		wait := last / (sum + last) // Erlang C
		r := n - 1 - a
		tail := math.Exp(-mu*d) * (1 + wait/r*(1-math.Exp(-mu*d*r)))
		if math.Abs(r) < 1e-9 {
			tail = math.Exp(-mu*d) * (1 + wait*mu*d)
		}
		return l * (1 - tail)
	}
}

// md1 is M/D/1 with a deadline: Crommelin's series for the waiting time, whose
// terms alternate and cancel.
func md1(mu, d float64) func(float64) float64 {
	return func(l float64) float64 {
		service := 1 / mu
		t := d - service
		if l >= mu || t < 0 {
			return 0
		}
		exact := func(x float64) *big.Float { return new(big.Float).SetPrec(600).SetFloat64(x) }
		mul := func(a, b *big.Float) *big.Float { return new(big.Float).SetPrec(600).Mul(a, b) }
		sum := exact(0)
		for j := 0; float64(j)*service <= t+1e-12; j++ {
			x := l * (float64(j)*service - t) // at most 0
			term := exp(exact(-x))
			for k := 1; k <= j; k++ {
				term = mul(term, mul(exact(x), new(big.Float).SetPrec(600).Quo(exact(1), exact(float64(k)))))
			}
			sum.Add(sum, term)
		}
		p, _ := mul(sum, exact(1-l/mu)).Float64()
		return l * max(0, min(1, p))
	}
}

func exp(x *big.Float) *big.Float {
	sum := new(big.Float).SetPrec(600).SetFloat64(1)
	term := new(big.Float).SetPrec(600).SetFloat64(1)
	for k := 1; k < 700; k++ {
		term.Mul(term, x)
		term.Quo(term, new(big.Float).SetFloat64(float64(k)))
		sum.Add(sum, term)
	}
	return sum
}

// mm1k is M/M/1/K with a deadline; an infinite one counts every success.
func mm1k(mu float64, k int, d float64) func(float64) float64 {
	return func(l float64) float64 {
		rho := l / mu
		weights, total := make([]float64, k+1), 0.0
		for n := range weights {
			// Scaled by the largest power, so that nothing overflows.
			weights[n] = math.Pow(rho, float64(n))
			if rho > 1 {
				weights[n] = math.Pow(rho, float64(n-k))
			}
			total += weights[n]
		}
		good := 0.0
		for n := range k {
			good += weights[n] / total * erlang(n+1, mu*d)
		}
		return l * good
	}
}

// erlang is P(Erlang(n, 1) <= x).
func erlang(n int, x float64) float64 {
	if math.IsInf(x, 1) {
		return 1
	}
	term, sum := math.Exp(-x), 0.0
	for i := range n {
		sum += term
		term *= x / float64(i+1)
	}
	return 1 - sum
}

// hidden is what a trial of t seconds sees of an unbounded queue.
func hidden(mu, d, t float64) func(float64) float64 {
	return func(l float64) float64 {
		if l <= mu {
			return l
		}
		return l * min(1, d*mu/((l-mu)*t))
	}
}

func usl(gamma, sigma, kappa float64) func(float64) float64 {
	return func(l float64) float64 {
		n := l / gamma
		return gamma * n / (1 + sigma*(n-1) + kappa*n*(n-1))
	}
}

// truths are the 48 cases of the specification's table, regenerated from their
// formulas on grids of our own where the table gives none.
func truths() []truth {
	const soft = true
	r := rand.New(rand.NewPCG(48, 1))
	inf := math.Inf(1)
	uslGrid := []float64{1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64, 80, 96, 128, 192, 256, 400}
	amdahlGrid := []float64{1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 30, 40, 60, 100, 200, 400, 1000, 2000, 4000}
	shuffled := along(usualGrid, 500, hinge(500))
	r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
	noisyLine := along(steps(100, 2000, 100), 1, func(l float64) float64 { return l * (1 - 0.03*r.Float64()) })
	wall := along(steps(100, 2000, 100), 1, func(l float64) float64 { return l })
	for i := range wall {
		wall[i].P99 = 1e6
		if wall[i].Offered > 1200 {
			wall[i].P99 = 9e8
		}
	}
	generator := func(grid []float64, top float64, f func(float64) float64) []knee.Point {
		var points []knee.Point
		for _, l := range grid {
			o := min(l, top)
			points = append(points, knee.Point{Offered: o, Intended: l, Goodput: f(o)})
		}
		return points
	}
	var replicates []knee.Point
	for _, x := range []float64{100, 200, 300, 400, 450, 500, 550, 625, 750, 1000, 1500, 2500, 3500, 5000} {
		for i := range 5 {
			g := min(x, 500) * (1 - 0.02*r.Float64())
			if i == 2 && (x == 300 || x == 2500) {
				g *= 0.7
			}
			replicates = append(replicates, knee.Point{Offered: x, Goodput: g})
		}
	}
	noisyPlateau := along(usualGrid, 500, func(l float64) float64 {
		if l <= 500 {
			return l
		}
		return 500 * (1 + 0.16*(r.Float64()-0.5))
	})
	short := []float64{0.2, 0.4, 0.6, 0.8, 0.9, 1, 1.1, 1.25, 1.5, 2}
	return []truth{
		{name: "hinge, fine", points: along(append(steps(0.1, 1.1, 0.05), 1.2, 1.35, 1.5, 2, 3, 4, 5, 6, 8, 10), 500, hinge(500)), knee: 500, tolerance: 0.03, verdict: "plateau"},
		{name: "hinge, shuffled", points: shuffled, knee: 500, tolerance: 0.03, verdict: "plateau"},
		{name: "hinge, with an idle row", points: append(along(usualGrid, 500, hinge(500)), knee.Point{}), knee: 500, tolerance: 0.03, verdict: "plateau"},
		{name: "hinge, coarse", points: along(coarseGrid, 500, hinge(500)), knee: 500, tolerance: 0.05, verdict: "plateau"},
		{name: "hinge, doubling", points: along(doubleGrid, 500, hinge(500)), knee: 500, tolerance: 0.05, verdict: "plateau"},
		{name: "hinge at 0.5/s", points: along(usualGrid, 0.5, hinge(0.5)), knee: 0.5, tolerance: 0.03, verdict: "plateau"},
		{name: "hinge at 2.5M/s", points: along(usualGrid, 2.5e6, hinge(2.5e6)), knee: 2.5e6, tolerance: 0.03, verdict: "plateau"},
		{name: "M/M/1 with deadline", points: along(cliffGrid, 1000, mm1(1000, 0.1)), knee: 921.5, tolerance: 0.08, verdict: "collapse"},
		{name: "M/M/8 with deadline", points: along(cliffGrid, 1000, mmc(8, 125, 0.1)), knee: 919.8, tolerance: 0.08, verdict: "collapse"},
		{name: "M/D/1 with deadline", points: along(cliffGrid, 1000, md1(1000, 0.02)), knee: 878.3, tolerance: 0.08, verdict: "collapse"},
		{name: "M/M/1/5", points: along([]float64{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.2, 1.5, 2, 3, 4, 5, 6, 8, 10}, 1000, mm1k(1000, 5, inf)), knee: 640.2, tolerance: 0.1, verdict: "plateau"},
		{name: "M/M/1/50", points: along(append(cliffGrid, 1.08), 1000, mm1k(1000, 50, inf)), knee: 995.1, tolerance: 0.06, verdict: "plateau"},
		{name: "M/M/1/200 with deadline", points: along(cliffGrid, 1000, mm1k(1000, 200, 0.1)), knee: 922.0, tolerance: 0.08, verdict: "collapse"},
		{name: "M/M/1/60 with deadline", points: along(cliffGrid, 1000, mm1k(1000, 60, 0.1)), knee: 997.3, tolerance: 0.08, verdict: "plateau"},
		{name: "unbounded queue, trial of 10 s", points: along([]float64{0.1, 0.3, 0.5, 0.7, 0.9, 1, 1.04, 1.08, 1.1, 1.12, 1.15, 1.2, 1.3, 1.5, 2, 3, 5, 10}, 1000, hidden(1000, 1, 10)), knee: 1100, tolerance: 0.06, verdict: "collapse"},
		{name: "unbounded queue, trial of 60 s", points: along(trialGrid, 1000, hidden(1000, 1, 60)), knee: 1016.7, tolerance: 0.06, verdict: "collapse"},
		{name: "a no costs 0.005", points: along(usualGrid, 800, rejecting(800, 0.005)), knee: 800, tolerance: 0.04, verdict: "plateau"},
		{name: "a no costs 0.02", points: along(usualGrid, 800, rejecting(800, 0.02)), knee: 800, tolerance: 0.04, verdict: "decline"},
		{name: "a no costs 0.1", points: along(usualGrid, 800, rejecting(800, 0.1)), knee: 800, tolerance: 0.04, verdict: "collapse"},
		{name: "a no costs 0.5", points: along(usualGrid, 800, rejecting(800, 0.5)), knee: 800, tolerance: 0.04, verdict: "collapse"},
		{name: "two resources", points: along(usualGrid, 600, func(l float64) float64 { return min(l, 600, max(0, (8-l*0.002)/0.002)) }), knee: 600, tolerance: 0.04, verdict: "collapse"},
		{name: "fan-out of 3", points: along(usualGrid, 200, func(l float64) float64 { return l * math.Pow(min(1, 200/l), 3) }), knee: 200, tolerance: 0.05, verdict: "collapse"},
		{name: "USL, retrograde", points: along(uslGrid, 100, usl(100, 0.02, 0.0005)), knee: 325.3, tolerance: 0.15, verdict: "collapse", soft: soft},
		{name: "Amdahl", points: along(amdahlGrid, 100, usl(100, 0.02, 0)), knee: 345, tolerance: 0.15, verdict: "plateau", soft: soft},
		{name: "constant errors, then a hinge", points: along(usualGrid, 500, func(l float64) float64 { return 0.97 * min(l, 500) }), knee: 500, tolerance: 0.04, verdict: "plateau"},
		{name: "cliff", points: along(append(steps(50, 500, 50), 475, 525, 550, 600, 750, 1000, 2000, 4000, 5000), 1, func(l float64) float64 {
			if l <= 500 {
				return l
			}
			return 0
		}), knee: 500, tolerance: 0.06, verdict: "collapse"},
		{name: "cliff at 6x", points: along(usualGrid, 500, func(l float64) float64 {
			if l < 3000 {
				return min(l, 500)
			}
			return 0
		}), knee: 500, tolerance: 0.05, verdict: "collapse"},
		{name: "no knee", points: along(steps(100, 2000, 100), 1, func(l float64) float64 { return l }), verdict: "no_knee"},
		{name: "no knee, 3 % noise", points: noisyLine, verdict: "no_knee"},
		{name: "no knee, constant errors", points: along(steps(100, 2000, 100), 1, func(l float64) float64 { return 0.97 * l }), verdict: "no_knee"},
		{name: "latency wall without loss", points: wall, verdict: "no_knee"},
		{name: "below the first step", points: along(steps(100, 1000, 100), 1, hinge(50)), verdict: "below_range"},
		{name: "exactly the first step", points: along(steps(100, 1000, 100), 1, hinge(100)), knee: 100, tolerance: 0.03, verdict: "plateau"},
		{name: "all fail", points: along(steps(100, 1000, 100), 1, func(float64) float64 { return 0 }), verdict: "no_goodput"},
		{name: "one point", points: []knee.Point{{Offered: 300, Goodput: 300}}, verdict: "insufficient"},
		{name: "two points", points: []knee.Point{{Offered: 300, Goodput: 300}, {Offered: 600, Goodput: 400}}, verdict: "insufficient"},
		{name: "no points", verdict: "insufficient"},
		{name: "only to 2x", points: along(short, 500, hinge(500)), knee: 500, tolerance: 0.04, verdict: "range_short"},
		{name: "generator ends first", points: generator(steps(100, 2000, 100), 900, hinge(1e9)), verdict: "generator_limited"},
		{name: "generator ends at 3x", points: generator([]float64{100, 200, 300, 400, 450, 500, 550, 600, 800, 1000, 1500, 2500, 4000, 5000}, 1500, hinge(500)), knee: 500, tolerance: 0.05, verdict: "range_short"},
		{name: "plateau with 8 % noise", points: noisyPlateau, knee: 500, tolerance: 0.08, verdict: "plateau"},
		{name: "replicates", points: replicates, knee: 500, tolerance: 0.05, verdict: "plateau"},
		{name: "a real dip", points: along([]float64{50, 100, 150, 200, 250, 300, 350, 400, 450, 500, 550, 600, 800, 1200, 2000, 3500, 5000}, 1, func(l float64) float64 {
			if l > 200 && l < 320 {
				return 0.8 * l
			}
			return min(l, 500)
		}), knee: 200, tolerance: 0.06, verdict: "inversion", next: 500},
		{name: "staircase of an autoscaler", points: along([]float64{50, 100, 150, 200, 250, 300, 400, 500, 600, 700, 800, 1200, 2400, 6000}, 1, func(l float64) float64 {
			if l < 300 {
				return min(l, 150)
			}
			return min(l, 600)
		}), knee: 150, tolerance: 0.06, verdict: "inversion", next: 600},
		{name: "staircase of batches", points: along([]float64{40, 80, 120, 200, 280, 360, 400, 440, 480, 500, 520, 600, 750, 1000, 2000, 3000, 5000}, 1, func(l float64) float64 { return 40 * math.Floor(min(l, 500)/40) }), knee: 480, tolerance: 0.06, verdict: "plateau"},
		{name: "two knees", points: along([]float64{50, 100, 150, 180, 200, 220, 250, 300, 400, 500, 600, 700, 800, 1000, 1400, 2000, 2400}, 1, func(l float64) float64 { return min(l, 100+l/2, 400) }), knee: 200, tolerance: 0.08, verdict: "plateau", at: 600},
		{name: "slow decline", points: along(usualGrid, 500, func(l float64) float64 {
			if l <= 500 {
				return l
			}
			return 500 * max(0.62, 1-0.12*math.Log2(l/500))
		}), knee: 500, tolerance: 0.05, verdict: "decline"},
		{name: "dip past the knee", points: along(usualGrid, 500, func(l float64) float64 {
			if l > 2000 && l < 2800 {
				return 200
			}
			return min(l, 500)
		}), knee: 500, tolerance: 0.05, verdict: "collapse"},
	}
}
