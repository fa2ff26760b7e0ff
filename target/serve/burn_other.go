//go:build !linux

package serve

import (
	"sync/atomic"
	"time"
)

// burn does as many calibrated rounds of spinning as take the time given by
// work on an undisturbed CPU. It stops early when over becomes true,
// and stands still while b is shut.
func burn(work time.Duration, over *atomic.Bool, b *barrier) {
	for work > 0 && !over.Load() {
		b.pass()
		step := min(work, stride)
		spinFor(step)
		work -= step
	}
}
