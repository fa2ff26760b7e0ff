package cases

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

const badserver = "testdata/badserver.py"

// forks starts the servers of badserver.py.
var forks nursery

// A nursery is one process of Python that forks for each server.
type nursery struct {
	mu    sync.Mutex
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines *bufio.Scanner
}

// needPython skips the test where no server of badserver.py can be started.
func needPython(t *testing.T) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("the servers in Python are forked, which Windows cannot do")
	}
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("python3 is not there: the servers of badserver.py are not tested against, those in Go are")
	}
}

// start starts a server with these arguments and returns where it answers.
func (n *nursery) start(args string) (pid, port, stats int, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd == nil {
		if err := n.begin(); err != nil {
			return 0, 0, 0, err
		}
	}
	if _, err := io.WriteString(n.in, args+" --port 0 --stats-port 0\n"); err != nil {
		return 0, 0, 0, err
	}
	for port == 0 {
		if !n.lines.Scan() {
			return 0, 0, 0, fmt.Errorf("%s: no answer to %q: %v", badserver, args, n.lines.Err())
		}
		var name string
		if _, err := fmt.Sscanf(n.lines.Text(), "ready case=%s port=%d stats=%d", &name, &port, &stats); err == nil {
			continue
		}
		if _, err := fmt.Sscanf(n.lines.Text(), "pid %d", &pid); err != nil {
			return 0, 0, 0, fmt.Errorf("%s says %q", badserver, n.lines.Text())
		}
	}
	return pid, port, stats, nil
}

func (n *nursery) begin() error {
	cmd := exec.Command("python3", "testdata/forks.py", badserver)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	n.cmd, n.in, n.lines = cmd, in, bufio.NewScanner(out)
	return nil
}

// stop ends every server.
func (n *nursery) stop() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cmd != nil {
		_ = n.in.Close()
		_ = n.cmd.Wait()
	}
}

// A bad server is one of badserver.py.
type bad struct {
	url   string
	stats string // where it says what it has seen
}

// startBad starts a server: the name of its case, and further arguments.
func startBad(t *testing.T, args string) *bad {
	t.Helper()
	pid, port, stats, err := forks.start("--case " + args)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p, err := os.FindProcess(pid); err == nil {
			_ = p.Kill()
		}
	})
	return &bad{url: fmt.Sprintf("http://127.0.0.1:%d", port), stats: fmt.Sprintf("http://127.0.0.1:%d/stats", stats)}
}

// badStats is what such a server has seen.
type badStats struct {
	Counters  map[string]uint64 `json:"counters"`
	Sent      map[string]uint64 `json:"status_sent"`
	PerSecond map[string]uint64 `json:"arrivals_per_second"`
	Most      int               `json:"max_in_flight"`
	MostConns int               `json:"max_open_connections"`
	OnOne     int               `json:"max_requests_per_connection"`
}

// asking is what the servers are asked with, by no connection that stays.
var asking = &http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

func (b *bad) look(t *testing.T) badStats {
	t.Helper()
	resp, err := asking.Get(b.stats)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var s badStats
	if err := json.NewDecoder(resp.Body).Decode(&s); err != nil {
		t.Fatal(err)
	}
	return s
}

func (b *bad) address() string { return b.url }

func (b *bad) seen(t *testing.T) seen {
	s := b.look(t)
	return seen{requests: s.Counters["requests"], connections: s.Counters["connections"], answers: s.Counters["responses"]}
}

// badNames returns the names of all cases.
func badNames(t *testing.T) []string {
	t.Helper()
	out, err := exec.Command("python3", badserver, "--list").Output()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for line := range strings.Lines(string(out)) {
		names = append(names, strings.Fields(line)[0])
	}
	return names
}
