package live

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

// Each arrival brings the request that is its turn, to the server that it is for,
// over connections to that server.
func TestRequestsGoWhereTheyAreFor(t *testing.T) {
	overPlain(t, func(t *testing.T, engine Engine) {
		var mu sync.Mutex
		got := map[string]int{}
		serve := func(name string) *Target {
			var self string
			_, url := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				if r.Host != self {
					t.Errorf("%s is asked for %s", self, r.Host)
				}
				got[name+r.URL.Path]++
			})
			mu.Lock()
			self = strings.TrimPrefix(url, "http://")
			mu.Unlock()
			target, err := ParseTarget(url + "/own")
			if err != nil {
				t.Fatal(err)
			}
			return target
		}
		a, b := serve("a"), serve("b")
		turns := []int{0, 1, 2, 1, 3}
		r := trip{
			url: a.String(), rate: 100, length: 500 * time.Millisecond,
			options: Options{
				Engine:   engine,
				Requests: []Request{{Path: "/default"}, {Target: b}, {Target: a, Path: "/x"}, {Target: b, Path: "/y"}},
				Order:    func(seq uint64) int { return turns[seq%uint64(len(turns))] },
			},
		}.run(t)
		mu.Lock()
		defer mu.Unlock()
		want := map[string]int{"a/default": 10, "b/own": 20, "a/x": 10, "b/y": 10}
		for what, n := range want {
			if got[what] != n {
				t.Errorf("good %d, failed by %v; seen %v: want %v", r.tally.Good, r.tally.FailedBy, got, want)
				break
			}
		}
	})
}

// Without an order requests take turns.
func TestRequestsTakeTurns(t *testing.T) {
	overPlain(t, func(t *testing.T, engine Engine) {
		var mu sync.Mutex
		got := map[string]int{}
		_, url := serveHTTP(t, func(_ http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			got[r.URL.Path]++
		})
		trip{
			url: url, rate: 100, length: 300 * time.Millisecond,
			options: Options{Engine: engine, Requests: []Request{{Path: "/1"}, {Path: "/2"}, {Path: "/3"}}},
		}.run(t)
		mu.Lock()
		defer mu.Unlock()
		if got["/1"] != 10 || got["/2"] != 10 || got["/3"] != 10 {
			t.Errorf("seen %v: want 10 of each", got)
		}
	})
}
