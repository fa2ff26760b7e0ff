package main

import (
	"slices"
)

// A spread is what several rounds of one measurement came to.
type spread struct {
	Median float64 `json:"median"`
	Min    float64 `json:"min"`
	Max    float64 `json:"max"`
	N      int     `json:"n"` // rounds that have a value
}

// spreadOf returns the spread of values; N is 0 when there are none.
func spreadOf(x []float64) spread {
	if len(x) == 0 {
		return spread{}
	}
	x = slices.Sorted(slices.Values(x))
	return spread{Median: quantile(x, 0.5), Min: x[0], Max: x[len(x)-1], N: len(x)}
}

// over returns the spread of the ratios of two measurements, round by round, as
// the rounds are what makes them comparable. Values are by round; a round that
// lacks one of them has no ratio.
func over(a, b map[int]float64) spread {
	var ratios []float64
	for round, v := range a {
		if w, ok := b[round]; ok && w != 0 {
			ratios = append(ratios, v/w)
		}
	}
	return spreadOf(ratios)
}
