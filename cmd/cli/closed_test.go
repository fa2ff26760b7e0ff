package cli

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"knee/ci/verdict"
)

// A closed loop has at most as many requests open as it has callers, and counts
// what the server counts.
func TestClosedLoop(t *testing.T) {
	var open, most, all atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		n := open.Add(1)
		defer open.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		if all.Add(1)%10 == 0 {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	defer s.Close()
	w, stdout, stderr := quietWorld("closed-loop", "--url", s.URL, "--conns", "3", "--for", "200ms")
	if code := run(context.Background(), w); code != verdict.CodeOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	var got closedResult
	if err := json.Unmarshal(stdout.Bytes(), &got); err != nil {
		t.Fatalf("%v: %q", err, stdout)
	}
	if got.Requests == 0 || int64(got.Requests) != all.Load() || got.Failed != got.Requests/10 {
		t.Errorf("%+v: want the %d requests that came, every tenth of them failed", got, all.Load())
	}
	if m := most.Load(); m < 1 || m > 3 {
		t.Errorf("%d requests were open at once: want up to 3", m)
	}
}

func TestClosedLoopRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"":                                "--url: ",
		"--url http://192.0.2.1/":         "192.0.2.1 is not loopback",
		"--url http://[::1]/ --conns 0":   "--conns 0: want at least 1",
		"--url http://[::1]/ --for 0s":    "--for 0s: ",
		"--url http://[::1]/ --engine no": `engine "no": want one of`,
		"more":                            "closed-loop with 1 argument",
	} {
		w, _, stderr := quietWorld(append([]string{"closed-loop"}, strings.Fields(args)...)...)
		if code := run(context.Background(), w); code == verdict.CodeOK || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: exit code %d, %q; want an error with %q", args, code, stderr, want)
		}
	}
}
