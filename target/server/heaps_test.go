package server

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"knee/target/protection"
)

// TestExpiries holds the list and the heap to what one sorted list would say.
func TestExpiries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var e expiries
		var in []*protection.Request
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				for _, at := range rapid.SliceOfN(rapid.IntRange(0, 100), 1, 20).Draw(t, "at") {
					r := &protection.Request{Expires: time.Duration(at)}
					if at == 100 {
						r.Expires = protection.Never
					}
					e.add(r)
					in = append(in, r)
				}
			},
			"remove": func(t *rapid.T) {
				if len(in) == 0 {
					t.Skip()
				}
				i := rapid.IntRange(0, len(in)-1).Draw(t, "which")
				r := in[i]
				in = append(in[:i:i], in[i+1:]...)
				e.remove(r)
				if r.Links != (protection.Links{}) {
					t.Fatalf("links left in a request that was removed: %+v", r.Links)
				}
			},
			"": func(t *rapid.T) {
				want := protection.Never
				for _, r := range in {
					want = min(want, r.Expires)
				}
				if got := e.next(); got != want {
					t.Fatalf("next at %d, want %d", got, want)
				}
				for i, x := range e.heap {
					if x.r.Links.Heap != i+1 || x.at != x.r.Expires || x.at < e.heap[max(i-1, 0)/heapWidth].at {
						t.Fatalf("the heap is broken at %d", i)
					}
				}
				if want != protection.Never && e.first().Expires != want {
					t.Fatalf("first expires at %d, want %d", e.first().Expires, want)
				}
			},
		})
	})
}

// TestEndings holds that work ends in the order of its ends, and of its starts
// among equals.
func TestEndings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var h endings
		n := map[time.Duration][]uint64{} // starts by end, in order
		var start uint64
		t.Repeat(map[string]func(*rapid.T){
			"add": func(t *rapid.T) {
				for _, at := range rapid.SliceOfN(rapid.IntRange(0, 20), 1, 20).Draw(t, "done") {
					done := time.Duration(at)
					h.add(done, nil)
					n[done] = append(n[done], start)
					start++
				}
			},
			"pop": func(t *rapid.T) {
				if h.empty() {
					t.Skip()
				}
				first := protection.Never
				for done := range n {
					first = min(first, done)
				}
				got := h.pop()
				if got.done != first || got.start != n[first][0] {
					t.Fatalf("popped end %d start %d, want end %d start %d", got.done, got.start, first, n[first][0])
				}
				if n[first] = n[first][1:]; len(n[first]) == 0 {
					delete(n, first)
				}
			},
		})
	})
}
