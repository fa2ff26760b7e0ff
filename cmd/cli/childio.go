package cli

import (
	"bytes"
	"strings"
	"sync"
)

// tailBytes is how much a tail keeps.
const tailBytes = 16 << 10

// A tail is a writer that keeps the end of what is written.
type tail struct {
	mu  sync.Mutex
	buf []byte
	cut bool
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.buf = append(t.buf, p...)
	if over := len(t.buf) - tailBytes; over > 0 {
		t.buf = append(t.buf[:0], t.buf[over:]...)
		t.cut = true
	}
	return len(p), nil
}

// String returns what is kept, without the newline at its end.
func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := strings.TrimRight(string(t.buf), "\n")
	if t.cut {
		s = "…" + s
	}
	return s
}

// firstLineBytes bounds the line that a firstLine waits for.
const firstLineBytes = 64 << 10

// A firstLine is a writer that delivers the first line written and drops the
// rest. What grows too long counts as a line.
type firstLine struct {
	line chan []byte // gets one line, without its newline
	buf  []byte
	done bool
}

func newFirstLine() *firstLine { return &firstLine{line: make(chan []byte, 1)} }

func (f *firstLine) Write(p []byte) (int, error) {
	if f.done {
		return len(p), nil
	}
	f.buf = append(f.buf, p...)
	end := bytes.IndexByte(f.buf, '\n')
	if end < 0 && len(f.buf) > firstLineBytes {
		end = firstLineBytes
	}
	if end >= 0 {
		f.line <- f.buf[:end]
		f.done = true
	}
	return len(p), nil
}
