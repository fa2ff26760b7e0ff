package targets

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
)

// maxTurns bounds how long it takes until the turns of targets begin again.
const maxTurns = 1 << 20

// An Order says which of several targets, each with its variants, is sent next:
// a smooth weighted round robin, in which a target with three times the weight of
// another is sent three times as often, in between. Equal weights make it a plain
// round robin in the order of the file. The variants of a target take turns as
// well. It is a function of the number alone.
type Order struct {
	turns    []turn
	variants []variants
}

// A turn is one sending of a target within the cycle.
type turn struct {
	target int32
	number int32 // of the sendings of that target in the cycle, from 0
}

// variants are where those of a target stand among those of all.
type variants struct {
	first  int
	count  uint64
	weight uint64 // sendings in the cycle
}

// newOrder returns the order of targets with these weights and numbers of variants.
func newOrder(weights, counts []int) (*Order, error) {
	divisor := 0
	for _, w := range weights {
		divisor = gcd(w, divisor)
	}
	o := &Order{}
	total, first := 0, 0
	for i, w := range weights {
		total += w / divisor
		o.variants = append(o.variants, variants{first: first, count: uint64(counts[i]), weight: uint64(w / divisor)})
		first += counts[i]
	}
	if total > maxTurns {
		return nil, fmt.Errorf("the weights of the targets add up to %d after division by what they have in common: want at most %d", total, maxTurns)
	}
	o.turns = make([]turn, 0, total)
	for i, v := range o.variants {
		for n := range v.weight {
			o.turns = append(o.turns, turn{target: int32(i), number: int32(n)})
		}
	}
	// The middle of the n-th of w equal parts of the cycle is the place of the n-th
	// sending. Weights are small enough for products of two to be exact.
	slices.SortStableFunc(o.turns, func(a, b turn) int {
		wa, wb := int64(o.variants[a.target].weight), int64(o.variants[b.target].weight)
		return cmp.Or(cmp.Compare((2*int64(a.number)+1)*wb, (2*int64(b.number)+1)*wa), cmp.Compare(a.target, b.target))
	})
	return o, nil
}

// At returns the index of what the arrival with this number brings, among the
// variants of all targets in turn.
func (o *Order) At(seq uint64) int {
	n := uint64(len(o.turns))
	t := o.turns[seq%n]
	v := &o.variants[t.target]
	return v.first + int((seq/n*v.weight+uint64(t.number))%v.count)
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

var errNoTargets = errors.New("no targets: want at least one")
