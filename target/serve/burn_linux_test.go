package serve

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

func TestBurnUsesTheCPUTimeAskedFor(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, work := range []time.Duration{1, time.Microsecond, 5 * time.Millisecond} {
		before := threadTime()
		burn(work, new(atomic.Bool), new(barrier))
		if used := threadTime() - before; used < work {
			t.Errorf("%v of CPU time used, want at least %v", used, work)
		}
	}
}
