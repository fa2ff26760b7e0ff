package targets

import (
	"fmt"
	"math/rand/v2"
)

const (
	// MaxVariants is the largest number of variants.
	MaxVariants = 1 << 20
	// maxBytes bounds the memory that the variants of all targets take, and overhead
	// is what one takes beside its texts.
	maxBytes = 64 << 20
	overhead = 1 << 10
)

// Expand makes n variants of each target that has placeholders, in its path, its
// fields or its body, and leaves the others as they are. It returns them all and
// their order. What is random comes from the source alone. n is from 1 to
// MaxVariants; variants that would take more than 64 MB are an error that says how
// many fit.
func Expand(all []Pattern, n int, from *rand.Rand) ([]Target, *Order, error) {
	if len(all) == 0 {
		return nil, nil, errNoTargets
	}
	if n < 1 || n > MaxVariants {
		return nil, nil, fmt.Errorf("%d variants: want 1 to %d", n, MaxVariants)
	}
	var weights, counts []int
	size := 0 // of one variant of each that has some
	for _, p := range all {
		weights, counts = append(weights, p.weight()), append(counts, 1)
		if !p.Fixed() {
			counts[len(counts)-1] = n
			size += p.longest() + overhead
		}
	}
	if most := maxBytes / max(size, 1); n > most {
		if most == 0 {
			return nil, nil, fmt.Errorf("one variant of each target takes %d MB: want at most %d MB for all", size>>20, maxBytes>>20)
		}
		return nil, nil, fmt.Errorf("%d variants of what takes %d bytes are more than %d MB: want at most %d variants", n, size, maxBytes>>20, most)
	}
	order, err := newOrder(weights, counts)
	if err != nil {
		return nil, nil, err
	}
	var made []Target
	for i, p := range all {
		for number := range counts[i] {
			made = append(made, p.variant(number+1, from))
		}
	}
	return made, order, nil
}
