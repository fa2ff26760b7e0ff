package order

// A ranking holds flows so that the one before all others is at hand: a heap in
// which each flow knows its place.
type ranking struct {
	flows  []*flow
	before func(a, b *flow) bool
	place  int // which of flow.place is this ranking's
}

// Indices into flow.place. A flow is in one ranking of the scheduler at most.
const (
	placeOfScheduler = iota
	placeOfLongest
)

// put takes f in, or moves it to where it belongs after a change.
func (k *ranking) put(f *flow) {
	i := f.place[k.place] - 1
	if i < 0 {
		i = len(k.flows)
		k.flows = append(k.flows, f)
	}
	k.settle(i, f)
}

// remove takes f out, if it is in.
func (k *ranking) remove(f *flow) {
	i := f.place[k.place] - 1
	if i < 0 {
		return
	}
	f.place[k.place] = 0
	last := len(k.flows) - 1
	moved := k.flows[last]
	k.flows[last] = nil
	k.flows = k.flows[:last]
	if i < last {
		k.settle(i, moved)
	}
}

// settle puts f at i, or above or below.
func (k *ranking) settle(i int, f *flow) {
	for i > 0 {
		parent := (i - 1) / 2
		if !k.before(f, k.flows[parent]) {
			break
		}
		k.set(i, k.flows[parent])
		i = parent
	}
	for {
		child := 2*i + 1
		if child >= len(k.flows) {
			break
		}
		if right := child + 1; right < len(k.flows) && k.before(k.flows[right], k.flows[child]) {
			child = right
		}
		if !k.before(k.flows[child], f) {
			break
		}
		k.set(i, k.flows[child])
		i = child
	}
	k.set(i, f)
}

func (k *ranking) set(i int, f *flow) {
	k.flows[i] = f
	f.place[k.place] = i + 1
}
