package stat

import (
	"math"
	"math/rand/v2"
	"slices"
)

// resamples is how often a bootstrap draws.
const resamples = 1000

// fewBlocks is the number of blocks below which a percentile interval is too
// narrow and is widened.
const fewBlocks = 15

// BlockBootstrap returns the 95% interval of an estimate that rests on so many
// blocks, each of which goes into it whole: the percentile interval of the estimates
// from as many blocks, drawn with replacement (Efron 1979; whole blocks, because
// what is within one is not independent). of returns the estimate from the blocks
// whose numbers it is given; a NaN is left out.
//
// Below 15 blocks such intervals cover too little (86% with 7), and are widened
// around the estimate by the 0.975 quantile of Student's t over that of the normal
// distribution. With fewer than two blocks, or when less than half of the draws
// give a number, the interval is infinite. The same seed gives the same interval.
func BlockBootstrap(blocks int, seed uint64, of func(picked []int) float64) (low, high float64) {
	low, high = math.Inf(-1), math.Inf(1)
	if blocks < 2 {
		return low, high
	}
	all := make([]int, blocks)
	for i := range all {
		all[i] = i
	}
	estimate := of(all)
	if math.IsNaN(estimate) {
		return low, high
	}
	source := rand.New(rand.NewPCG(seed, 0))
	picked := make([]int, blocks)
	drawn := make([]float64, 0, resamples)
	for range resamples {
		for i := range picked {
			picked[i] = source.IntN(blocks)
		}
		if v := of(picked); !math.IsNaN(v) {
			drawn = append(drawn, v)
		}
	}
	if len(drawn) < resamples/2 {
		return low, high
	}
	slices.Sort(drawn)
	const z = 1.959963984540054 // normal quantile of 0.975
	wider := 1.0
	if blocks < fewBlocks {
		wider = studentsT(0.975, blocks-1) / z
	}
	at := func(q float64) float64 {
		v := drawn[int(math.Round(q*float64(len(drawn)-1)))]
		return estimate + (v-estimate)*wider
	}
	return at(0.025), at(0.975)
}
