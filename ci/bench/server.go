package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"knee/generator/host"
)

// A server takes the requests of the tools. It is a process of its own.
type server struct {
	url string
	cmd *exec.Cmd
	end io.Closer // ends the process, where closing something does
}

// pid returns the process of the server.
func (s *server) pid() int { return s.cmd.Process.Pid }

// ending is how long a server may take to end.
const ending = 5 * time.Second

// stop ends the server and waits for it. It is killed when it does not end.
func (s *server) stop() error {
	if s.end != nil {
		s.end.Close()
	} else if err := s.cmd.Process.Signal(os.Interrupt); err != nil {
		return err
	}
	defer time.AfterFunc(ending, func() { _ = s.cmd.Process.Kill() }).Stop()
	return s.cmd.Wait()
}

// nginxConf answers every request with the same two bytes. The path is a
// directory for its files.
const nginxConf = `daemon off;
master_process off;
pid %[1]s/pid;
error_log %[1]s/error.log;
events { worker_connections 16384; }
http {
	access_log off;
	keepalive_requests 4000000000;
	keepalive_timeout 1h;
	client_body_temp_path %[1]s/body;
	proxy_temp_path %[1]s/proxy;
	fastcgi_temp_path %[1]s/fastcgi;
	uwsgi_temp_path %[1]s/uwsgi;
	scgi_temp_path %[1]s/scgi;
	server { listen %[2]s; location / { return 200 "ok"; } }
}
`

// findNginx returns where nginx is, "" when it is not there. Not every user
// searches sbin.
func findNginx() string {
	for _, name := range []string{"nginx", "/usr/sbin/nginx", "/usr/local/sbin/nginx"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// startNginx starts nginx with one worker on loopback; its files are in dir.
func startNginx(ctx context.Context, path, dir string, on host.CPUs) (*server, error) {
	addr, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	conf := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(conf, fmt.Appendf(nil, nginxConf, dir, addr), 0o600); err != nil {
		return nil, err
	}
	s := &server{url: "http://" + addr + "/", cmd: exec.Command(path, "-p", dir, "-c", conf)}
	var stderr bytes.Buffer
	s.cmd.Stderr = &stderr
	if err := startOn(on, s.cmd); err != nil {
		return nil, err
	}
	if err := reachable(ctx, addr); err != nil {
		return nil, errors.Join(fmt.Errorf("nginx: %w: %s", err, lastLine(stderr.Bytes())), s.stop())
	}
	return s, nil
}

// freeAddress returns an address on loopback that nobody listens on.
func freeAddress(ctx context.Context) (string, error) {
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// reachable waits until addr takes a connection.
func reachable(ctx context.Context, addr string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, ending)
	defer cancel()
	var dialer net.Dialer
	for ctx.Err() == nil {
		var c net.Conn
		if c, err = dialer.DialContext(ctx, "tcp", addr); err == nil {
			return c.Close()
		}
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
	return err
}

// startNull starts knee's server that does nothing, with further flags.
func startNull(knee string, on host.CPUs, flags ...string) (*server, error) {
	return startChild(exec.Command(knee, append([]string{"serve", "--null", "--child", "--listen", "127.0.0.1:0"}, flags...)...), on)
}

// startRecording starts a server that does nothing, and writes when requests came
// to a file as it ends. Where it has a CPU of its own it takes that whole: when a
// server that sleeps has to be woken, its tool pays for that, and the arrival is
// noted late.
func startRecording(knee, file string, on host.CPUs) (*server, error) {
	return startNull(knee, on, "--arrivals", file, fmt.Sprintf("--null-busy=%t", len(on) > 0))
}

// startSlow starts a server, this program at self, that answers after a delay.
func startSlow(self string, delay time.Duration, on host.CPUs) (*server, error) {
	return startChild(exec.Command(self, "slow-server", "-delay", delay.String()), on)
}

// startChild starts a server that says where it is in a line of JSON, and ends
// with its standard input.
func startChild(cmd *exec.Cmd, on host.CPUs) (*server, error) {
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := startOn(on, cmd); err != nil {
		return nil, err
	}
	s := &server{cmd: cmd, end: stdin}
	var ready struct{ Addr string }
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(line, &ready)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w: %s", cmd.Path, err, lastLine(stderr.Bytes())), s.stop())
	}
	s.url = "http://" + ready.Addr + "/"
	return s, nil
}

// readArrivals reads what the recording server wrote: an instant in nanoseconds
// on each line, in order.
func readArrivals(name string) ([]int64, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	at := make([]int64, 0, bytes.Count(text, []byte{'\n'}))
	for line := range bytes.Lines(text) {
		t, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 10, 64)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", len(at)+1, err)
		}
		at = append(at, t)
	}
	return at, nil
}
