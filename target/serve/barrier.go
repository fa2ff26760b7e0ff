package serve

import "sync/atomic"

// A barrier holds up work that burns while no work may make progress.
type barrier struct {
	shut atomic.Pointer[chan struct{}] // closed when the barrier opens; nil while it is open
}

// set shuts or opens the barrier. It is called by one goroutine at a time.
func (b *barrier) set(shut bool) {
	switch was := b.shut.Load(); {
	case shut && was == nil:
		opens := make(chan struct{})
		b.shut.Store(&opens)
	case !shut && was != nil:
		b.shut.Store(nil)
		close(*was)
	}
}

// pass waits until the barrier is open.
func (b *barrier) pass() {
	if opens := b.shut.Load(); opens != nil {
		<-*opens
	}
}
