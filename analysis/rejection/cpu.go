package rejection

import (
	"maps"
	"math"
	"slices"

	"knee/analysis/stat"
)

// FromCPU finds the cost from the CPU that the server used: the least squares of
// CPU against successes, late answers and rejections, with what it uses at rest.
// Loads below the knee tell what a success costs, those beyond it what a rejection
// does. Nothing costs less than nothing: what comes out so is taken for nothing.
//
// It is not known without the CPU of at least four trials, without rejections, or
// when loads and answers rose and fell together so that their costs cannot be told
// apart.
func FromCPU(trials []Trial) Cost {
	known := slices.DeleteFunc(slices.Clone(trials), func(t Trial) bool { return math.IsNaN(t.CPU) })
	reasons := reasonsOf(known)
	switch {
	case len(known) < 4:
		return Cost{Verdict: NotTested, Why: "the CPU of the server is not known: want that of at least 4 trials"}
	case len(reasons) == 0:
		return Cost{Verdict: NotTested, Why: "nothing was rejected"}
	}
	// The last column is everything that was rejected.
	together := func(picked []int) (success, rejection float64) {
		c := costs(known, picked, func(t Trial) []float64 { return []float64{1, t.Good, t.Late, t.rejected()} })
		if c == nil {
			return math.NaN(), math.NaN()
		}
		return c[1], c[3]
	}
	n := blocks(known)
	success, rejection := together(upTo(n))
	if math.IsNaN(success) || success <= 0 {
		return Cost{Verdict: Inconclusive, Why: "the costs of answers and of rejections cannot be told apart: want loads below the knee and far beyond it"}
	}
	low, high := stat.BlockBootstrap(n, 2, func(picked []int) float64 {
		s, r := together(picked)
		if s <= 0 {
			return math.NaN()
		}
		return r / s
	})
	c := Cost{
		Verdict: Measured, Q: rejection / success, Low: max(0, low), High: high,
		Success: success, Rejection: rejection, Collapse: math.Inf(1),
	}
	most := 0.0
	for _, t := range known {
		most = max(most, t.CPU)
	}
	c.Capacity = most / success
	if rejection > 0 {
		c.Collapse = most / rejection
	}
	if len(reasons) > 1 {
		c.ByReason = byReason(known, reasons, success)
	}
	return c
}

// reasonsOf returns the reasons that there are rejections of.
func reasonsOf(trials []Trial) []string {
	seen := map[string]bool{}
	for _, t := range trials {
		for reason, v := range t.Rejected {
			if v > 0 {
				seen[reason] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

// byReason returns the cost by reason; nil when they cannot be told apart.
func byReason(trials []Trial, reasons []string, success float64) map[string]float64 {
	c := costs(trials, upTo(blocks(trials)), func(t Trial) []float64 {
		row := []float64{1, t.Good, t.Late}
		for _, reason := range reasons {
			row = append(row, t.Rejected[reason])
		}
		return row
	})
	if c == nil {
		return nil
	}
	shares := make(map[string]float64, len(reasons))
	for i, reason := range reasons {
		shares[reason] = c[3+i] / success
	}
	return shares
}

// costs returns what each column of the trials of the picked blocks costs, at least
// nothing, by least squares; nil when columns cannot be told apart. What would cost
// less than nothing leaves the fit, the worst first.
func costs(trials []Trial, picked []int, row func(Trial) []float64) []float64 {
	var rows [][]float64
	var cpu []float64
	for _, block := range picked {
		for _, t := range trials {
			if t.Block == block {
				rows, cpu = append(rows, row(t)), append(cpu, t.CPU)
			}
		}
	}
	if len(rows) == 0 {
		return nil
	}
	columns := upTo(len(rows[0]))
	columns = slices.DeleteFunc(columns, func(i int) bool {
		return !slices.ContainsFunc(rows, func(r []float64) bool { return r[i] != 0 })
	})
	for {
		found := leastSquares(rows, cpu, columns)
		if found == nil {
			return nil
		}
		worst := slices.Index(found, slices.Min(found))
		if found[worst] >= 0 {
			all := make([]float64, len(rows[0]))
			for i, column := range columns {
				all[column] = found[i]
			}
			return all
		}
		columns = slices.Delete(columns, worst, worst+1)
		if len(columns) == 0 {
			return nil
		}
	}
}

// leastSquares solves for the coefficients of some columns, by the normal equations
// of columns that are scaled to the same length; nil when these are (nearly) singular.
func leastSquares(rows [][]float64, y []float64, columns []int) []float64 {
	n := len(columns)
	scale := make([]float64, n)
	for i, c := range columns {
		for _, r := range rows {
			scale[i] = math.Hypot(scale[i], r[c])
		}
	}
	m := make([][]float64, n) // with the right side as the last column
	for i, ci := range columns {
		m[i] = make([]float64, n+1)
		for k, r := range rows {
			for j, cj := range columns {
				m[i][j] += r[ci] / scale[i] * r[cj] / scale[j]
			}
			m[i][n] += r[ci] / scale[i] * y[k]
		}
	}
	const singular = 1e-9
	for i := range n {
		pivot := i
		for k := i + 1; k < n; k++ {
			if math.Abs(m[k][i]) > math.Abs(m[pivot][i]) {
				pivot = k
			}
		}
		m[i], m[pivot] = m[pivot], m[i]
		if math.Abs(m[i][i]) < singular {
			return nil
		}
		for k := range n {
			if k == i {
				continue
			}
			f := m[k][i] / m[i][i]
			for j := i; j <= n; j++ {
				m[k][j] -= f * m[i][j]
			}
		}
	}
	x := make([]float64, n)
	for i := range n {
		x[i] = m[i][n] / m[i][i] / scale[i]
	}
	return x
}
