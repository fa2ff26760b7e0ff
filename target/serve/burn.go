package serve

import (
	"sync"
	"sync/atomic"
	"time"
)

// stride is how much work burn does between two looks at the clock. A look
// costs under a microsecond.
const stride = 20 * time.Microsecond

// spins is how many rounds of spin take one microsecond on this machine, at least 1.
var spins = sync.OnceValue(func() int {
	const rounds = 1 << 16
	best := time.Duration(1 << 62)
	for range 8 { // the fastest was disturbed least
		start := time.Now()
		spin(rounds)
		best = min(best, time.Since(start))
	}
	return max(1, int(rounds*time.Microsecond/max(best, 1)))
})

// sink keeps spin from being optimised away.
var sink atomic.Uint64

// spin does n rounds of nothing useful, each depending on the last.
func spin(n int) {
	x := uint64(n) | 1
	for range n {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	sink.Store(x)
}

// spinFor spins about as long as d takes on an undisturbed CPU.
func spinFor(d time.Duration) {
	spin(max(1, int(float64(d)/float64(time.Microsecond)*float64(spins()))))
}
