package serve

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func external(c *Config) { c.Core.External, c.Core.ExternalDebt = true, true }

func TestBurnedWorkIsServed(t *testing.T) {
	for _, stage := range Stages() {
		s := newServer(t, nil, func(c *Config) {
			external(c)
			c.ShedAt, c.Core.Workers, c.Core.Service = stage, 2, time.Millisecond
		})
		addr, _ := listen(t, s, nil)
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				resp, err := http.Get("http://" + addr)
				if err != nil {
					t.Errorf("%s: %v", stage, err)
					return
				}
				resp.Body.Close()
				if resp.StatusCode != 200 {
					t.Errorf("%s: status %d", stage, resp.StatusCode)
				}
			})
		}
		wg.Wait()
		if n := s.Counts(); n.Served != 8 || n.Running != 0 {
			t.Errorf("%s: %d served, %d running; want 8, 0", stage, n.Served, n.Running)
		}
	}
}

// A server that burned on after its callers were refused would be slow for the
// trial that comes next. The work asked for is a day.
func TestResetStopsBurning(t *testing.T) {
	s := newServer(t, nil, external)
	reason := make(chan string)
	go func() {
		reason <- ask(s, map[string]string{"Knee-Work-Ns": "86400000000000"}).Header.Get("Knee-Reason")
	}()
	for s.Counts().Running == 0 {
		time.Sleep(time.Millisecond)
	}
	if err := s.Reset(); err != nil {
		t.Fatal(err)
	}
	if got := <-reason; got != "reset" {
		t.Errorf("reason %q, want reset", got)
	}
	if n := s.Counts(); n.Running != 0 || n.Resets != 1 {
		t.Errorf("%d running, %d reset; want 0, 1", n.Running, n.Resets)
	}
}

func BenchmarkBurn(b *testing.B) {
	var over atomic.Bool
	for b.Loop() {
		burn(100*time.Microsecond, &over, new(barrier))
	}
}
