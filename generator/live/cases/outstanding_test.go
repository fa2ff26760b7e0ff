package cases

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"knee/generator/live"
	"knee/generator/record"
)

// asServer in the environment makes the test binary a server that never answers,
// in a process of its own: its connections take memory and descriptors as well.
const asServer = "KNEE_CASES_SILENT_SERVER"

// serveSilence says where it listens, reads until its input says how many requests
// are to have come, gives them time to, and says how many requests and connections
// there were.
func serveSilence() int {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(l.Addr())
	var requests, connections atomic.Uint64
	go func() {
		for {
			c, err := l.Accept()
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				continue
			}
			connections.Add(1)
			go func() {
				defer c.Close()
				if n, _ := c.Read(make([]byte, 512)); n > 0 { // a request, which is less long
					requests.Add(1)
					_, _ = io.Copy(io.Discard, c)
				}
			}()
		}
	}()
	var want uint64
	_, _ = fmt.Scan(&want) // nothing: whoever started this is gone
	for end := time.Now().Add(patience); requests.Load() < want && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	l.Close()
	fmt.Println(requests.Load(), connections.Load())
	return 0
}

// silence is such a server.
type silence struct {
	url  string
	cmd  *exec.Cmd
	in   io.WriteCloser
	says *bufio.Scanner
}

func startSilence(t testing.TB) *silence {
	t.Helper()
	s := &silence{cmd: exec.Command(os.Args[0])}
	s.cmd.Env = append(os.Environ(), asServer+"=1")
	s.cmd.Stderr = os.Stderr
	in, err := s.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.in, s.says = in, bufio.NewScanner(out)
	if !s.says.Scan() {
		t.Fatal("the server does not say where it listens")
	}
	s.url = "http://" + s.says.Text()
	return s
}

// end ends the server once it has seen as many requests, and returns what it has seen.
func (s *silence) end(t testing.TB, requests uint64) (n seen) {
	t.Helper()
	fmt.Fprintln(s.in, requests)
	_ = s.in.Close()
	if !s.says.Scan() {
		t.Error("the server does not say what it has seen")
	} else if _, err := fmt.Sscan(s.says.Text(), &n.requests, &n.connections); err != nil {
		t.Error(err)
	}
	if err := s.cmd.Wait(); err != nil {
		t.Error(err)
	}
	return n
}

// outstanding sends requests for a while that nobody answers, with a timeout of
// timeout, and checks that each times out, and that this ends when it has to. It
// returns the outcome, what the server saw, and how much memory the process took at
// most.
func outstanding(t testing.TB, engine live.Engine, r trip) (o outcome, got seen, memory uint64) {
	t.Helper()
	s := startSilence(t)
	r.observe = func(now record.Reading) { memory = max(memory, uint64(now.Memory)) }
	o = r.run(t, s.url, engine)
	if err := o.tally.Conserved(); err != nil {
		t.Error(err)
	}
	// Where the machine has no ports or descriptors left, requests are not sent.
	if o.tally.Timeout != o.tally.Sent || o.tally.Timeout+o.tally.Unsent != o.planned {
		t.Errorf("ended as %s: want %d timeouts", say(o.endings()), o.planned)
	}
	if o.took > o.within+overdue {
		t.Errorf("took %v: want %v", o.took, o.within)
	}
	if o.stats.Open != 0 {
		t.Errorf("%d connections are open", o.stats.Open)
	}
	// Each request takes a connection of its own, as none is ever answered. Some may come
	// too late for a caller who has given up.
	got = s.end(t, o.stats.Opened)
	if got.requests > o.tally.Attempts || got.requests == 0 || !o.disturbed() && got.requests != o.tally.Attempts {
		t.Errorf("the server saw %d requests on %d connections, %d were sent on %d", got.requests, got.connections, o.tally.Attempts, o.stats.Opened)
	}
	return o, got, memory
}

// Requests that nobody answers add up to rate × timeout, and end.
func TestOutstanding(t *testing.T) {
	t.Parallel()
	for _, engine := range plain() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			outstanding(t, engine, trip{rate: 500, length: time.Second, timeout: time.Second})
		})
	}
}

// BenchmarkOutstanding has 20,000 requests outstanding and tells what that takes.
// Where there are fewer descriptors (ulimit -n), some are unsent for that reason.
// The engine of net/http is not for loads like this one.
func BenchmarkOutstanding(b *testing.B) {
	for _, engine := range plain() {
		if engine == live.NetHTTP {
			continue
		}
		b.Run(string(engine), func(b *testing.B) {
			for b.Loop() {
				o, got, memory := outstanding(b, engine, trip{rate: 10_000, length: 4 * time.Second, timeout: 2 * time.Second})
				b.ReportMetric(float64(memory)/1e6, "MB")
				b.ReportMetric(float64(o.tally.Timeout), "timeouts")
				b.ReportMetric(float64(o.tally.Unsent), "unsent")
				b.ReportMetric(float64(got.requests), "seen")
				b.ReportMetric(o.took.Seconds(), "s/run")
				b.ReportMetric(float64(o.step.Lag.P99)/1e6, "ms-lag-p99")
			}
		})
	}
}
