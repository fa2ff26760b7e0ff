package live

import "sync"

// An inbox brings what happens on the goroutines of a transport to the loop: one
// lock for each, and one wake-up a batch.
type inbox[T any] struct {
	ready chan struct{} // gets a token when something may be waiting

	mu    sync.Mutex
	posts []T
}

func newInbox[T any](ready chan struct{}) *inbox[T] { return &inbox[T]{ready: ready} }

// post hands p over. The caller must not touch it any more.
func (b *inbox[T]) post(p T) {
	b.mu.Lock()
	first := len(b.posts) == 0
	b.posts = append(b.posts, p)
	b.mu.Unlock()
	if first {
		ring(b.ready)
	}
}

// take returns what was posted since the last take, and keeps spare, whose
// contents are no longer needed, for what comes next.
func (b *inbox[T]) take(spare []T) []T {
	b.mu.Lock()
	defer b.mu.Unlock()
	taken := b.posts
	b.posts = spare[:0]
	return taken
}

// ring leaves a token in ready unless there is one.
func ring(ready chan<- struct{}) {
	select {
	case ready <- struct{}{}:
	default:
	}
}
