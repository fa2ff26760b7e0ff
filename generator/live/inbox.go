package live

import "sync"

// An inbox brings calls that are over from the goroutines of a transport to the
// loop: one lock a call, and one wake-up a batch.
type inbox struct {
	ready chan struct{} // holds a token while calls may be waiting, or somebody rang

	mu    sync.Mutex
	calls []*call
}

func newInbox() *inbox { return &inbox{ready: make(chan struct{}, 1)} }

// post hands c over. The caller must not touch it any more.
func (b *inbox) post(c *call) {
	b.mu.Lock()
	first := len(b.calls) == 0
	b.calls = append(b.calls, c)
	b.mu.Unlock()
	if first {
		b.ring()
	}
}

// ring wakes the loop.
func (b *inbox) ring() {
	select {
	case b.ready <- struct{}{}:
	default:
	}
}

// take returns what was posted since the last take, and keeps spare, whose
// contents are no longer needed, for what comes next.
func (b *inbox) take(spare []*call) []*call {
	b.mu.Lock()
	defer b.mu.Unlock()
	taken := b.calls
	b.calls = spare[:0]
	return taken
}
