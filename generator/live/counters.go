package live

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// counters count what goes over the connections of a transport; any goroutine
// may read them.
type counters struct {
	open       atomic.Int64
	openFailed atomic.Uint64
	reused     atomic.Uint64
	bodyBytes  atomic.Uint64
	oddRetry   atomic.Uint64
	surplus    atomic.Uint64

	mu      sync.Mutex
	opened  uint64
	connect *hdrhistogram.Histogram // microseconds
}

// longestConnect bounds the times to connect that are told apart.
const longestConnect = time.Minute

// connected counts a connection that took so long to open.
func (n *counters) connected(took time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.connect == nil {
		n.connect = hdrhistogram.New(1, longestConnect.Microseconds(), 3)
	}
	n.opened++
	_ = n.connect.RecordValue(max(1, min(took, longestConnect).Microseconds()))
}

func (n *counters) traffic() Traffic {
	t := Traffic{
		OpenFailed: n.openFailed.Load(),
		Open:       int(n.open.Load()),
		Reused:     n.reused.Load(),
		BodyBytes:  n.bodyBytes.Load(),
		OddRetry:   n.oddRetry.Load(),
		Surplus:    n.surplus.Load(),
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	t.Opened = n.opened
	if n.opened > 0 {
		at := func(q float64) time.Duration {
			return time.Duration(n.connect.ValueAtQuantile(q)) * time.Microsecond
		}
		t.ConnectP50, t.ConnectP99, t.ConnectMost = at(50), at(99), at(100)
	}
	return t
}
