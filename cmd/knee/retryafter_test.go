package main

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// TestRetryAfterInAllItsForms is acmesh-official/acme.sh#7201 and
// mastra-ai/mastra#23778: dates that are not understood, zeros and negative waits
// that become busy loops, and waits without end.
func TestRetryAfterInAllItsForms(t *testing.T) {
	t.Parallel()
	const n = 20 // requests of the profile
	profile := func(behaviours string) string {
		return "name: p\nclient:\n  timeout: 2s\n  deadline: 8s\n" + behaviours +
			"load: {arrivals: constant, phases: [{kind: hold, rate: 40/s, for: 500ms}]}\n"
	}
	const (
		retry  = "{kind: retry, max_attempts: 5, backoff: {base: 100ms, cap: 100ms, jitter: none}, max_retry_after: 2s}"
		budget = "{kind: retry_budget, ratio: 0.2, per: all}"
	)
	dir := files(t, map[string]string{
		"off.yaml":    profile(""),
		"retry.yaml":  profile("  behaviours: [" + retry + "]\n"),
		"budget.yaml": profile("  behaviours: [" + retry + ", " + budget + "]\n"),
	})
	for _, c := range []struct {
		name  string
		value func() string
		wait  [2]time.Duration // from one request to the next, at least and at most
	}{
		// A date has whole seconds: two seconds from now are more than one.
		{"date", func() string { return time.Now().Add(2 * time.Second).UTC().Format(http.TimeFormat) }, [2]time.Duration{time.Second, 3 * time.Second}},
		{"seconds", func() string { return "1" }, [2]time.Duration{time.Second, 3 * time.Second}},
		{"zero", func() string { return "0" }, [2]time.Duration{100 * time.Millisecond, 2 * time.Second}},
		{"negative", func() string { return "-5" }, [2]time.Duration{100 * time.Millisecond, 2 * time.Second}},
		{"huge", func() string { return "99999999999999999999" }, [2]time.Duration{2 * time.Second, 4 * time.Second}},
		{"garbage", func() string { return "2024 soon" }, [2]time.Duration{100 * time.Millisecond, 2 * time.Second}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := refuse(t, 1<<30, c.value)
			s.run(t, dir, "off")
			if s.requests != n {
				t.Errorf("without retries %d requests, want %d", s.requests, n)
			}
			s = refuse(t, 1, c.value)
			if r := s.run(t, dir, "retry"); s.requests != 2*n || r.Steps[0].Counts["good"] != n {
				t.Fatalf("with retries %d requests, %v: want each twice, and all good", s.requests, r.Steps[0].Counts)
			}
			for path, at := range s.at {
				if wait := at[1].Sub(at[0]); wait < c.wait[0] || wait > c.wait[1] {
					t.Errorf("%s came again after %v, want %v to %v", path, wait, c.wait[0], c.wait[1])
				}
			}
			s = refuse(t, 1<<30, c.value)
			s.run(t, dir, "budget")
			if most := n + n/5; s.requests > most || s.requests <= n {
				t.Errorf("with a budget of a fifth %d requests, want more than %d and up to %d", s.requests, n, most)
			}
		})
	}
}

// A refusing server says no to the first requests of each path.
type refusing struct {
	url      string
	mu       sync.Mutex
	requests int
	at       map[string][]time.Time // by path
}

// refuse starts a server that answers the first few of each path with 503 and
// this Retry-After.
func refuse(t *testing.T, few int, value func() string) *refusing {
	t.Helper()
	s := &refusing{at: map[string][]time.Time{}}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.requests++
		s.at[r.RequestURI] = append(s.at[r.RequestURI], time.Now())
		if len(s.at[r.RequestURI]) <= few {
			w.Header().Set("Retry-After", value())
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// run runs a profile against s, with a path for each original.
func (s *refusing) run(t *testing.T, dir, profile string) result {
	t.Helper()
	out, stderr, code := knee(t, dir, "run", "./"+profile+".yaml", "--url", s.url+"/{{seq}}", "--template", "--format", "json", "--quiet")
	if code != 0 && code != 1 { // 1: there was no goodput
		t.Fatalf("exit code %d: %s%s", code, out, stderr)
	}
	var r result
	strict(t, out, &r)
	return r
}
