package stat

import "math"

// FewRuns returns how likely it is that the signs of independent residuals change
// as seldom as they do in x, or more seldom (Wald and Wolfowitz 1940, exact): a
// small chance says that x bends where a line was fitted. Zeros are left out; with
// signs of one kind alone there is nothing to tell, and it is 1. x has at most 1,000
// values.
func FewRuns(x []float64) float64 {
	var signs []bool
	for _, v := range x {
		if v != 0 && !math.IsNaN(v) {
			signs = append(signs, v > 0)
		}
	}
	plus, runs := 0, 0
	for i, s := range signs {
		if s {
			plus++
		}
		if i == 0 || s != signs[i-1] {
			runs++
		}
	}
	minus := len(signs) - plus
	if plus == 0 || minus == 0 {
		return 1
	}
	p := 0.0
	for r := 2; r <= runs; r++ {
		p += chanceOfRuns(r, plus, minus)
	}
	return min(p, 1)
}

// chanceOfRuns is the chance of exactly r runs among so many of two kinds in random
// order.
func chanceOfRuns(r, a, b int) float64 {
	half := r / 2
	ways := 2 * choose(a-1, half-1) * choose(b-1, half-1)
	if r%2 == 1 {
		ways = choose(a-1, half)*choose(b-1, half-1) + choose(a-1, half-1)*choose(b-1, half)
	}
	return ways / choose(a+b, a)
}

// choose returns the number of ways to take k of n; 0 when there is none.
func choose(n, k int) float64 {
	if k < 0 || k > n {
		return 0
	}
	ways := 1.0
	for i := 1; i <= k; i++ {
		ways = ways * float64(n-k+i) / float64(i)
	}
	return ways
}
