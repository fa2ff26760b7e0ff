// Package usl fits the Universal Scalability Law to a closed-loop sweep of concurrency.
//
// X(N) = gN / (1 + s(N-1) + kN(N-1)), after Gunther: throughput against the number of
// callers, of which each waits for its answer before it sends again. s is what they
// queue for (contention), k what they do to one another (coherency). It says nothing of
// a load that does not wait, and is a second opinion on what a server can do at most.
package usl

import (
	"fmt"
	"math"
	"slices"
)

// least is how many points a fit takes: three parameters go through any three.
const least = 6

// A Point is throughput at a concurrency.
type Point struct {
	N float64 // callers, at least 1
	X float64 // answers per time
}

// A Fit is the law through points.
type Fit struct {
	Gamma float64 // g: throughput of one caller alone
	Sigma float64 // s, in [0, 1]
	Kappa float64 // k, at least 0
	// PeakN is where throughput is highest, and PeakX how high: with k of 0 there is no
	// peak, and both are infinite or X's limit g/s.
	PeakN, PeakX float64
	// Residuals are (measured - fitted) / fitted, one for each point, by N; RMS is their
	// quadratic mean.
	Residuals []float64
	RMS       float64
}

// At returns the throughput at a concurrency.
func (f Fit) At(n float64) float64 {
	return f.Gamma * n / (1 + f.Sigma*(n-1) + f.Kappa*n*(n-1))
}

// Of fits the law to points: least squares of the relative error in N/X, which is linear
// in 1/g, s/g and k/g, none of which may be negative. It returns an error when there are
// fewer than six concurrencies or one has no throughput.
func Of(points []Point) (Fit, error) {
	points = slices.Clone(points)
	slices.SortFunc(points, func(a, b Point) int { return cmpFloat(a.N, b.N) })
	distinct := 0
	for i, p := range points {
		if !(p.N >= 1) || !(p.X > 0) || math.IsInf(p.X, 0) || math.IsInf(p.N, 0) {
			return Fit{}, fmt.Errorf("usl: %v at %v callers: want some throughput, at 1 caller or more", p.X, p.N)
		}
		if i == 0 || p.N != points[i-1].N {
			distinct++
		}
	}
	if distinct < least {
		return Fit{}, fmt.Errorf("the Universal Scalability Law is fitted to %d numbers of callers at least, and there are %d", least, distinct)
	}
	best, off := [3]float64{}, math.Inf(1)
	// With so few parameters each set of those that are 0 can be tried.
	for mask := range 4 {
		used := []int{0}
		for i := range 2 {
			if mask&(1<<i) != 0 {
				used = append(used, i+1)
			}
		}
		c, ok := solve(points, used)
		if !ok {
			continue
		}
		if e := misfit(points, c); e < off {
			best, off = c, e
		}
	}
	if math.IsInf(off, 1) {
		return Fit{}, fmt.Errorf("usl: the points contradict the law")
	}
	f := Fit{Gamma: 1 / best[0], Sigma: min(1, best[1]/best[0]), Kappa: best[2] / best[0]}
	f.peak()
	sum := 0.0
	for _, p := range points {
		r := p.X/f.At(p.N) - 1
		f.Residuals = append(f.Residuals, r)
		sum += r * r
	}
	f.RMS = math.Sqrt(sum / float64(len(points)))
	return f, nil
}

func cmpFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// peak fills in where throughput is highest.
func (f *Fit) peak() {
	if f.Kappa == 0 {
		f.PeakN, f.PeakX = math.Inf(1), math.Inf(1)
		if f.Sigma > 0 {
			f.PeakX = f.Gamma / f.Sigma
		}
		return
	}
	f.PeakN = max(1, math.Sqrt((1-f.Sigma)/f.Kappa))
	f.PeakX = f.At(f.PeakN)
}

// row returns what N/X is made of, and N/X, of a point, each over N/X.
func row(p Point) [3]float64 {
	w := p.X / p.N
	return [3]float64{w, w * (p.N - 1), w * p.N * (p.N - 1)}
}

// solve returns the least squares over the parameters that are used; it is not ok when
// one of them is not positive.
func solve(points []Point, used []int) (c [3]float64, ok bool) {
	n := len(used)
	m := make([][]float64, n) // normal equations, with the right side as last column
	for i := range m {
		m[i] = make([]float64, n+1)
	}
	for _, p := range points {
		x := row(p)
		for i, a := range used {
			for j, b := range used {
				m[i][j] += x[a] * x[b]
			}
			m[i][n] += x[a]
		}
	}
	for i := range n { // Gauss, with pivots
		at := i
		for j := i + 1; j < n; j++ {
			if math.Abs(m[j][i]) > math.Abs(m[at][i]) {
				at = j
			}
		}
		m[i], m[at] = m[at], m[i]
		if m[i][i] == 0 {
			return c, false
		}
		for j := range n {
			if j == i {
				continue
			}
			f := m[j][i] / m[i][i]
			for k := i; k <= n; k++ {
				m[j][k] -= f * m[i][k]
			}
		}
	}
	for i, a := range used {
		if c[a] = m[i][n] / m[i][i]; !(c[a] > 0) {
			return c, false
		}
	}
	return c, true
}

// misfit is the sum of the squares.
func misfit(points []Point, c [3]float64) float64 {
	sum := 0.0
	for _, p := range points {
		x := row(p)
		d := c[0]*x[0] + c[1]*x[1] + c[2]*x[2] - 1
		sum += d * d
	}
	return sum
}
