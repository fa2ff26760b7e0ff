package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"knee/analysis"
	"knee/ci/verdict"
)

// Servers that are not ours, each with a capacity that is known: 200/s. It must
// lie in the interval that --quick gives, or close to it: what Python and the
// machine take is not in the sum. A run that says it cannot tell is not a wrong
// answer.
const (
	foreignCapacity  = 200.0
	foreignTolerance = 0.15
)

func TestFindOnServersThatAreNotOurs(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a third of a minute, up to three times, on the wall clock")
	}
	for _, c := range []struct {
		name   string
		start  func(t *testing.T, port int)
		reason string // of most rejections; "" when the server rejects nothing
	}{
		{"nginx with limit_req", startNginx, "status_503"},
		{"haproxy with maxconn", startHAProxy, "status_503"},
		{"python with eight threads", func(t *testing.T, port int) { startPython(t, port) }, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			port := freePort(t)
			c.start(t, port)
			// A busy machine can spoil a search of seconds. It does not spoil three.
			var missed, busy string
			for range 3 {
				r, code, complaints := findQuickly(t, port)
				checkForeignCounts(t, r, c.reason)
				switch {
				case code == verdict.CodeOK:
					if missed = misses(r, c.reason); missed == "" {
						return
					}
				case code == verdict.CodeInconclusive && r.Generator.Verdict == "limited":
					busy = r.Generator.Why
				case code == verdict.CodeInconclusive:
					missed = fmt.Sprintf("knee %s: %s", r.Knee.Verdict, r.Knee.Why)
				default:
					t.Fatalf("exit code %d, want 0: %s", code, complaints)
				}
			}
			if missed != "" {
				t.Error(missed)
				return
			}
			t.Skipf("the machine was too busy to tell, three times: %s", busy)
		})
	}
}

// misses says in what a result misses what is known: the knee, and that a server
// which rejects was seen to; "" when it does not.
func misses(r *analysis.Result, reason string) string {
	k := r.Knee
	if k.LowRPS == nil || k.HighRPS == nil ||
		*k.LowRPS > foreignCapacity*(1+foreignTolerance) || *k.HighRPS < foreignCapacity*(1-foreignTolerance) {
		return fmt.Sprintf("knee %s, interval %v to %v: want %v in it, give or take %v", k.Verdict, show(k.LowRPS), show(k.HighRPS), foreignCapacity, foreignTolerance)
	}
	var rejected uint64
	for _, s := range r.Steps {
		rejected += s.RejectedByReason[reason]
	}
	if reason != "" && rejected == 0 {
		return "past the knee nothing was rejected with reason " + reason
	}
	return ""
}

// checkForeignCounts holds what no machine is too busy for: every request ends
// once, and a rejection has the reason that the server's status gives it.
func checkForeignCounts(t *testing.T, r *analysis.Result, reason string) {
	t.Helper()
	for _, s := range r.Steps {
		if err := conserved(s.Counts); err != nil {
			t.Errorf("%s at %.0f/s: %v", s.Phase, s.IntendedRPS, err)
		}
		for got := range s.RejectedByReason {
			if got != reason {
				t.Errorf("%s at %.0f/s: rejected with reason %s, want %q only", s.Phase, s.IntendedRPS, got, reason)
			}
		}
	}
}

// findQuickly runs find --quick on a server of this machine.
func findQuickly(t *testing.T, port int) (*analysis.Result, int, string) {
	t.Helper()
	w, stdout, stderr := quietWorld("find", "--quick", "--format", "json", "--timeout", "300ms", "--url", fmt.Sprintf("http://127.0.0.1:%d/", port))
	code := run(context.Background(), w)
	r := &analysis.Result{}
	if stdout.Len() > 0 {
		if err := json.Unmarshal(stdout.Bytes(), r); err != nil {
			t.Fatalf("result: %v", err)
		}
	}
	return r, code, stderr.String()
}

// quietWorld is a world without a terminal, whose outputs are kept.
func quietWorld(args ...string) (w *world, stdout, stderr *bytes.Buffer) {
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	return &world{
		args: args, env: os.LookupEnv, stdin: strings.NewReader(""), stdout: stdout, stderr: stderr,
		now:        time.Now,
		interrupts: func() (<-chan os.Signal, func()) { return make(chan os.Signal), func() {} },
		leave:      func(code int) { panic(fmt.Sprintf("leave with %d", code)) },
	}, stdout, stderr
}

func conserved(c analysis.Counts) error {
	if ended := c.Good + c.Late + c.Rejected + c.Timeout + c.Failed + c.Withheld + c.Unsent + c.Unfinished; ended != c.Planned {
		return fmt.Errorf("%d planned and %d ended", c.Planned, ended)
	}
	return nil
}

func show(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.4g", *v)
}

// freePort returns a port of the loopback interface that was free a moment ago.
func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// startProgram starts a program of the system, waits until it accepts
// connections on port, and ends it with the test. The test is skipped where the
// program is absent.
func startProgram(t *testing.T, port int, name string, args ...string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	var complaints bytes.Buffer
	cmd := exec.Command(path, args...)
	cmd.Stderr = &complaints
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() {
		cmd.Process.Kill()
		<-ended
	})
	for range 500 {
		c, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			c.Close()
			return
		}
		select {
		case err := <-ended:
			ended <- err
			t.Fatalf("%s ended: %v: %s", name, err, complaints.String())
		case <-time.After(20 * time.Millisecond):
		}
	}
	t.Fatalf("%s does not accept connections on port %d: %s", name, port, complaints.String())
}

// writeFile writes a file into a directory of the test's own.
func writeFile(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// startNginx limits requests to 200/s, with a burst of 40.
func startNginx(t *testing.T, port int) {
	dir := t.TempDir()
	config := writeFile(t, "nginx.conf", fmt.Sprintf(`
daemon off;
master_process off;

pid %[1]s/pid;
error_log %[1]s/error.log crit;
events { worker_connections 4096; }
http {
  access_log off;
  client_body_temp_path %[1]s/body; proxy_temp_path %[1]s/proxy; fastcgi_temp_path %[1]s/fastcgi;
  uwsgi_temp_path %[1]s/uwsgi; scgi_temp_path %[1]s/scgi;
  limit_req_zone $server_port zone=all:1m rate=200r/s;
  server {
    listen 127.0.0.1:%[2]d;
    location / { limit_req zone=all burst=40 nodelay; limit_req_status 503; empty_gif; }
  }
}
`, dir, port))
	startProgram(t, port, "nginx", "-c", config, "-p", dir)
}

// startHAProxy lets eight requests at a time through to a server that takes
// 40 ms for each, and refuses what has waited 100 ms.
func startHAProxy(t *testing.T, port int) {
	if _, err := exec.LookPath("haproxy"); err != nil {
		t.Skip("haproxy is not installed")
	}
	behind := freePort(t)
	startPython(t, behind, "64")
	config := writeFile(t, "haproxy.cfg", fmt.Sprintf(`
global
  maxconn 8192
  nbthread 1
defaults
  mode http
  timeout connect 2s
  timeout client 30s
  timeout server 30s
  timeout queue 100ms
frontend all
  bind 127.0.0.1:%d
  default_backend one
backend one
  server s 127.0.0.1:%d maxconn 8
`, port, behind))
	startProgram(t, port, "haproxy", "-db", "-f", config)
}

// startPython serves with eight threads, or as many as given, each taking 40 ms
// for a request.
func startPython(t *testing.T, port int, threads ...string) {
	script := writeFile(t, "server.py", `
import socket, sys, threading, time
threads, port = threading.Semaphore(int(sys.argv[1])), int(sys.argv[2])
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
listener.bind(("127.0.0.1", port))
listener.listen(4096)

def serve(connection):
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        lines = connection.makefile("rb")
        while lines.readline():
            while lines.readline() not in (b"\r\n", b""):
                pass
            with threads:
                time.sleep(0.04)
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
    except OSError:
        pass
    finally:
        connection.close()

while True:
    connection, _ = listener.accept()
    threading.Thread(target=serve, args=(connection,), daemon=True).start()
`)
	args := slices.Concat(threads, []string{"8"})[:1]
	startProgram(t, port, "python3", script, args[0], fmt.Sprint(port))
}
