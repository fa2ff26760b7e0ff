package fleet

import (
	"fmt"
	"time"

	"knee/target/fault"
)

// Inject makes ft bend the conditions of one server from now on: of the given
// number in the given layer, both from 0. It panics when there is none such.
func (f *Fleet) Inject(now time.Duration, layer, number int, ft fault.Fault) {
	f.change(now, layer, number, func(n *node) { n.core.Inject(f.now, ft) })
}

// Lift ends what Inject of the same fault into the same server began.
func (f *Fleet) Lift(now time.Duration, layer, number int, ft fault.Fault) {
	f.change(now, layer, number, func(n *node) { n.core.Lift(f.now, ft) })
}

func (f *Fleet) change(now time.Duration, layer, number int, do func(*node)) {
	if layer < 0 || layer >= len(f.layers) || number < 0 || number >= len(f.layers[layer].nodes) {
		panic(fmt.Sprintf("fleet: no server %d in layer %d", number, layer))
	}
	f.Advance(now)
	n := f.layers[layer].nodes[number]
	do(n)
	n.touched()
	f.settle()
}
