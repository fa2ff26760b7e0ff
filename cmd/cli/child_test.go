package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"knee/profiles"
	"knee/target/serve"
)

// childRole makes the test binary play another program, by name.
const childRole = "KNEE_TEST_ROLE"

// init makes the test binary stand in for knee where a test starts it as one.
func init() {
	if role := os.Getenv(childRole); role != "" {
		os.Unsetenv(childRole)
		os.Exit(playRole(role))
	}
	if len(os.Args) > 2 && os.Args[1] == "serve" && (os.Args[2] == "--child" || os.Args[2] == "--null") {
		os.Exit(Main())
	}
}

func playRole(role string) int {
	switch role {
	case "parent": // starts a server, says where, and stays
		c, err := startChild(context.Background(), testProfile(), nil)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println(c.Addr)
		select {}
	case "broken": // fails before it is ready
		fmt.Fprintln(os.Stderr, "out of cheese")
		return 7
	case "chatty": // says something else first
		fmt.Println("hello")
		io.Copy(io.Discard, os.Stdin)
		return 0
	case "mute": // never is ready
		io.Copy(io.Discard, os.Stdin)
		return 0
	}
	panic("no such role: " + role)
}

// testProfile is a server on which a request takes until it is reset or the
// server ends.
func testProfile() []byte {
	return []byte(`
name: test
target: {workers: 1, service: {kind: constant, mean: 1h}}
client: {timeout: 100ms}
load: {phases: [{kind: hold, rate: 1/s, for: 1s}]}
`)
}

// playing returns the command that has the test binary play role.
func playing(t *testing.T, role string) *exec.Cmd {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path)
	cmd.Env = append(os.Environ(), childRole+"="+role)
	return cmd
}

func startTestChild(t *testing.T) *child {
	t.Helper()
	c, err := startChild(t.Context(), testProfile(), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// stuck sends a request that is never served, waits until it is inside, and
// returns the reason that it is refused with in the end.
func stuck(t *testing.T, c *child) <-chan string {
	t.Helper()
	reason := make(chan string, 1)
	go func() {
		resp, err := http.Get("http://" + c.Addr)
		if err != nil {
			reason <- err.Error()
			return
		}
		defer resp.Body.Close()
		reason <- resp.Header.Get("Knee-Reason")
	}()
	for {
		n, err := c.Counts(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if n.Arrived > 0 {
			return reason
		}
		time.Sleep(time.Millisecond)
	}
}

func TestChildServesUntilClosed(t *testing.T) {
	c := startTestChild(t)
	if c.PID == os.Getpid() {
		t.Error("the server is this process")
	}
	reason := stuck(t, c)
	if err := c.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := <-reason; got != "reset" {
		t.Errorf("the request that waited ended with %q, want reset", got)
	}
	n, err := c.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if n.Arrived != 1 || n.Resets != 1 {
		t.Errorf("counts %+v, want 1 arrived, 1 reset", n)
	}
	workers := -1
	if err := c.Change(t.Context(), serve.Change{Workers: &workers}); err == nil || !strings.Contains(err.Error(), "workers is -1: want at least 0") {
		t.Errorf("changing workers to -1: %v", err)
	}
	if err := c.Close(); err != nil {
		t.Errorf("closing: %v", err)
	}
	if used, known := c.CPU(); !known || used <= 0 {
		t.Errorf("CPU time %v, %v, want some after the end", used, known)
	}
	if conn, err := net.Dial("tcp", c.Addr); err == nil {
		conn.Close()
		t.Error("the server is still there")
	}
}

// Whoever kills knee -9 must not find a server on the machine afterwards. A
// connection to it breaks when its process ends.
func TestChildEndsWithItsParent(t *testing.T) {
	parent := playing(t, "parent")
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	parent.Stderr = os.Stderr
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	addr, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", strings.TrimSpace(addr))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	if err := parent.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	parent.Wait()
	conn.SetReadDeadline(time.Now().Add(30 * time.Second))
	_, err = conn.Read(make([]byte, 1))
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the server outlived its parent: %v", err)
	}
}

// On Linux the kernel kills the child; everywhere the end of stdin ends it.
func TestServeChildLeavesWhenItsInputEnds(t *testing.T) {
	order, err := json.Marshal(childOrder{Profile: string(testProfile())})
	if err != nil {
		t.Fatal(err)
	}
	in, feed := io.Pipe()
	out, ready := io.Pipe()
	ctx, cancel := context.WithCancel(t.Context())
	var left atomic.Int64
	left.Store(-1)
	w := &world{stdin: in, stdout: ready, stderr: io.Discard, leave: func(code int) {
		left.Store(int64(code))
		cancel()
	}}
	done := make(chan error, 1)
	go func() { done <- serveChild(ctx, w) }()
	if _, err := feed.Write(append(order, '\n')); err != nil {
		t.Fatal(err)
	}
	var r childReady
	if err := json.NewDecoder(out).Decode(&r); err != nil {
		t.Fatal(err)
	}
	if conn, err := net.Dial("tcp", r.Addr); err != nil {
		t.Error(err)
	} else {
		conn.Close()
	}
	if left.Load() != -1 {
		t.Fatal("it left while its input was open")
	}
	feed.Close()
	if err := <-done; err != nil || left.Load() != 0 {
		t.Errorf("it left with code %d, %v; want 0", left.Load(), err)
	}
}

func TestChildThatIsNeverReady(t *testing.T) {
	for role, want := range map[string][]string{
		"broken": {"it ended before it was ready: exit status 7", "it said:\nout of cheese"},
		"chatty": {`its first line is "hello": want JSON with addr, control, token and pid`},
	} {
		cmd := playing(t, role)
		_, err := launchChild(t.Context(), cmd, testProfile(), nil)
		if err == nil {
			t.Fatalf("%s: it was ready", role)
		}
		for _, w := range want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: error %q does not say %q", role, err, w)
			}
		}
		if cmd.ProcessState == nil {
			t.Errorf("%s: nobody waited for the process", role)
		}
	}
}

func TestChildIsGivenUpWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("no patience")
	cancel(why)
	cmd := playing(t, "mute")
	if _, err := launchChild(ctx, cmd, testProfile(), nil); !errors.Is(err, why) {
		t.Errorf("error %v, want %v", err, why)
	}
	if cmd.ProcessState == nil {
		t.Error("nobody waited for the process")
	}
}

func TestChildOfAProfileThatIsWrong(t *testing.T) {
	_, err := startChild(t.Context(), []byte("target: {workers: none}\n"), nil)
	if err == nil || !strings.Contains(err.Error(), "exit status 2") || !strings.Contains(err.Error(), "workers") {
		t.Errorf("error %v, want exit status 2 and what is wrong with workers", err)
	}
}

func TestChildThatDies(t *testing.T) {
	c := startTestChild(t)
	if err := c.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-c.exited
	const want = "it has ended: signal: killed"
	if err := c.Reset(t.Context()); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("reset: %v, want %q", err, want)
	}
	if err := c.Close(); err == nil || !strings.Contains(err.Error(), "ended by itself: signal: killed") {
		t.Errorf("close: %v", err)
	}
}

func TestTailKeepsTheEnd(t *testing.T) {
	var all tail
	for i := range 2000 {
		fmt.Fprintf(&all, "line %d %s\n", i, strings.Repeat("-", 50))
	}
	if s := all.String(); len(s) > tailBytes+len("…") || !strings.HasPrefix(s, "…") || !strings.Contains(s, "\nline 1999 ") {
		t.Errorf("%d bytes: %.40s … %s", len(s), s, s[len(s)-70:])
	}
}

func TestFirstLineIsBounded(t *testing.T) {
	for name, c := range map[string]struct {
		writes []string
		want   string
	}{
		"pieces":   {[]string{"a", "b\nc", "d\n"}, "ab"},
		"too long": {[]string{strings.Repeat("x", firstLineBytes), "y"}, strings.Repeat("x", firstLineBytes)},
	} {
		f := newFirstLine()
		for _, s := range c.writes {
			if n, err := io.WriteString(f, s); n != len(s) || err != nil {
				t.Errorf("%s: wrote %d, %v", name, n, err)
			}
		}
		if got := string(<-f.line); got != c.want {
			t.Errorf("%s: %.20q, want %.20q", name, got, c.want)
		}
	}
}

func TestServerConfigOfEmbeddedProfiles(t *testing.T) {
	for _, name := range singleServers(t) {
		p, err := profiles.Load(name, profiles.Overrides{})
		if err != nil {
			t.Fatal(err)
		}
		cfg, err := serverConfig(p)
		if err != nil {
			t.Fatal(err)
		}
		s, err := serve.New(cfg)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		s.Close()
	}
}

func TestAcceptRefusesProtectionsThatReadTheRequest(t *testing.T) {
	for chain, want := range map[string]string{
		"queue_bound:count=10":                        "",
		"limit:limit=10+rate:rate=100,burst=1":        "",
		"queue_bound:cost=10":                         "queue_bound needs to know the cost",
		"queue_bound:count=10+deadline:allowance=p95": "deadline needs to know the deadline",
	} {
		_, err := profiles.Load("default", profiles.Overrides{Protect: chain, Set: []string{"target.shed_at=accept"}})
		got := fmt.Sprint(err)
		if want == "" && err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %q", chain, got, want)
		}
	}
}
