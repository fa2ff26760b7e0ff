//go:build unix

package main

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// TestRunningOutOfDescriptors is hatoo/oha#4: requests disappeared from the report
// when no descriptor was left. 64 are fewer than the load needs: 200/s to a server
// that takes a second.
func TestRunningOutOfDescriptors(t *testing.T) {
	t.Parallel()
	var requests atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		requests.Add(1)
		time.Sleep(time.Second) // the work
	}))
	t.Cleanup(server.Close)
	dir := files(t, map[string]string{"p.yaml": "name: p\nclient: {timeout: 3s}\nload: {arrivals: constant, phases: [{kind: hold, rate: 200/s, for: 2s}]}\n"})
	for _, c := range []struct{ most, reason string }{
		{"auto", "in_flight"},   // bounded by the limit, which a warning names
		{"1000", "descriptors"}, // more than the limit allows
	} {
		t.Run(c.most, func(t *testing.T) {
			requests.Store(0)
			out, stderr := starved(t, dir, server.URL, c.most, "json")
			var r struct {
				Steps []struct {
					Counts         map[string]uint64
					UnsentByReason map[string]uint64 `json:"unsent_by_reason"`
					FailedByKind   map[string]uint64 `json:"failed_by_kind"`
					Generator      struct {
						StolenShare *float64 `json:"stolen_share"` // read with descriptors
					}
				}
				Generator struct{ Verdict string }
				Warnings  []string
			}
			strict(t, out, &r)
			n := r.Steps[0].Counts
			if n["planned"] != 400 || n["good"]+n["unsent"] != 400 || n["good"] != uint64(requests.Load()) || n["good"] == 0 {
				t.Errorf("%v, and the server saw %d requests: want 400 that are either answered or unsent", n, requests.Load())
			}
			if by := r.Steps[0].UnsentByReason; by[c.reason] != n["unsent"] {
				t.Errorf("unsent for %v, want %d for %s", by, n["unsent"], c.reason)
			}
			if len(r.Steps[0].FailedByKind) > 0 {
				t.Errorf("failed by %v: the server did nothing wrong", r.Steps[0].FailedByKind)
			}
			if stolen := r.Steps[0].Generator.StolenShare; stolen != nil && *stolen < 0 {
				t.Errorf("%v of a CPU was stolen", *stolen)
			}
			if r.Generator.Verdict != "limited" {
				t.Errorf("the generator is %s", r.Generator.Verdict)
			}
			text, _ := starved(t, dir, server.URL, c.most, "text")
			if n := strings.Count(text, "descriptors"); n < 1 || n > 3 {
				t.Errorf("descriptors are named %d times:\n%s", n, text)
			}
			if n := strings.Count(stderr, "\n"); n > 5 {
				t.Errorf("%d lines on stderr:\n%s", n, stderr)
			}
		})
	}
}

// starved runs the profile with 64 descriptors, which the generator must say are
// too few.
func starved(t *testing.T, dir, url, most, format string) (stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	cmd := exec.Command("sh", "-c", `ulimit -n 64 && exec knee run ./p.yaml --format "$2" --set "client.max_in_flight=$1" --url "$0"`, url, most, format)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
	if err := cmd.Run(); cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != 5 {
		t.Fatalf("%v, want exit code 5: %s", err, errs.String())
	}
	return out.String(), errs.String()
}
