package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"time"

	"knee/generator/host"
	"knee/target/serve"
	"knee/target/server"
)

// How long a child may take.
const (
	childStart   = 15 * time.Second // from its start to its ready line
	childStop    = 3 * time.Second  // from the end of its stdin to its own
	childControl = 10 * time.Second // to answer on the control endpoint
)

// A child is the built-in server as a process of its own, so that its CPU,
// garbage and crashes are its own. It ends when its stdin does: with Close, and
// however this process ends.
type child struct {
	Addr string // where it serves, HOST:PORT
	PID  int

	cmd     *exec.Cmd
	stdin   io.Closer
	stderr  *tail
	exited  chan struct{} // closed once the process is gone and waited for
	waitErr error         // why it ended; valid once exited is closed
	control controlClient
}

// startChild starts a server of the resolved profile, in YAML, that may run on
// the CPUs of on; nil: on those of this process.
func startChild(ctx context.Context, profile []byte, on host.CPUs) (*child, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding the program itself: %w", err)
	}
	return launchChild(ctx, exec.Command(path, "serve", "--child"), profile, on)
}

// startNull starts a server that does nothing, on the CPUs of on; nil: on those
// of this process. It has no control endpoint.
func startNull(ctx context.Context, on host.CPUs) (*child, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding the program itself: %w", err)
	}
	return launch(ctx, exec.Command(path, "serve", "--null", "--child", "--listen", "127.0.0.1:0"), nil, on, (*child).takeNull)
}

// launchChild starts cmd as a server of the resolved profile.
func launchChild(ctx context.Context, cmd *exec.Cmd, profile []byte, on host.CPUs) (*child, error) {
	order, err := json.Marshal(childOrder{Profile: string(profile)})
	if err != nil {
		return nil, err
	}
	return launch(ctx, cmd, append(order, '\n'), on, (*child).take)
}

// launch starts cmd, writes order to it and waits until its first line, which
// take reads, says that it is ready. If it is not, it is gone when launch returns.
func launch(ctx context.Context, cmd *exec.Cmd, order []byte, on host.CPUs, take func(c *child, line []byte) error) (*child, error) {
	cmd.Args[0] = os.Args[0]
	c := &child{cmd: cmd, stderr: &tail{}, exited: make(chan struct{})}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	c.stdin = stdin
	first := newFirstLine()
	cmd.Stdout, cmd.Stderr = first, c.stderr
	cmd.WaitDelay = childStop
	cmd.SysProcAttr = childAttributes()
	if err := c.run(on); err != nil {
		return nil, err
	}
	go stdin.Write(order) // a child that does not read fails to be ready

	timeout := time.NewTimer(childStart)
	defer timeout.Stop()
	select {
	case line := <-first.line:
		err = take(c, line)
	case <-c.exited:
		err = fmt.Errorf("it ended before it was ready: %w", c.ending())
	case <-timeout.C:
		err = fmt.Errorf("it was not ready within %v", childStart)
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	if err != nil {
		c.kill()
		return nil, c.explain(err)
	}
	return c, nil
}

// run starts the process and waits for it, both on one thread that does nothing
// else: on Linux the child is killed when the thread that started it ends. A
// thread that was bound stays locked, and so ends with its goroutine.
func (c *child) run(on host.CPUs) error {
	started := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if on == nil {
			defer runtime.UnlockOSThread()
		} else if err := host.BindThread(on); err != nil {
			started <- fmt.Errorf("%w (--pin off leaves it to the system)", err)
			return
		}
		err := c.cmd.Start() // on the CPUs of the thread
		started <- err
		if err != nil {
			return
		}
		c.waitErr = c.cmd.Wait()
		close(c.exited)
	}()
	return <-started
}

// take reads the ready line.
func (c *child) take(line []byte) error {
	var r childReady
	if err := json.Unmarshal(line, &r); err != nil || r.Addr == "" || r.Control == "" || r.Token == "" || r.PID == 0 {
		return fmt.Errorf("its first line is %q: want JSON with addr, control, token and pid", line)
	}
	c.Addr, c.PID = r.Addr, r.PID
	c.control = controlClient{base: "http://" + r.Control, token: r.Token, http: &http.Client{Timeout: childControl, Transport: &http.Transport{}}}
	return nil
}

// takeNull reads the ready line of a server that does nothing.
func (c *child) takeNull(line []byte) error {
	var r nullReady
	if err := json.Unmarshal(line, &r); err != nil || r.Addr == "" || r.PID == 0 {
		return fmt.Errorf("its first line is %q: want JSON with addr and pid", line)
	}
	c.Addr, c.PID = r.Addr, r.PID
	return nil
}

// ending says how the process ended.
func (c *child) ending() error {
	if c.waitErr != nil {
		return c.waitErr
	}
	return errors.New("exit status 0")
}

// explain adds to err what the child last wrote to stderr.
func (c *child) explain(err error) error {
	if said := c.stderr.String(); said != "" {
		return fmt.Errorf("%w\nit said:\n%s", err, said)
	}
	return err
}

func (c *child) kill() {
	c.cmd.Process.Kill()
	<-c.exited
}

// Reset drops the server's queue and what its protections have learned.
func (c *child) Reset(ctx context.Context) error {
	if err := c.control.do(ctx, http.MethodPost, "/reset", nil); err != nil {
		return c.failed("resetting the server", err)
	}
	return nil
}

// Change changes the server.
func (c *child) Change(ctx context.Context, change serve.Change) error {
	if err := c.control.send(ctx, "/change", change); err != nil {
		return c.failed("changing the server", err)
	}
	return nil
}

// look returns what the server says of itself.
func (c *child) look(ctx context.Context) (n serve.Counts, err error) {
	err = c.control.do(ctx, http.MethodGet, "/counts", &n)
	return n, err
}

// Profile returns a CPU profile of the next so many seconds, in the format of pprof.
func (c *child) Profile(ctx context.Context, seconds int) ([]byte, error) {
	data, err := c.control.fetch(ctx, fmt.Sprintf("/profile?seconds=%d", seconds))
	if err != nil {
		return nil, c.failed("taking a CPU profile of the server", err)
	}
	return data, nil
}

// Counts returns the server's totals since it started.
func (c *child) Counts(ctx context.Context) (server.Counts, error) {
	n, err := c.look(ctx)
	if err != nil {
		return server.Counts{}, c.failed("reading the server's counts", err)
	}
	return n.Core(), nil
}

// Gone reports whether the process has ended, and all that was in it.
func (c *child) Gone() bool {
	select {
	case <-c.exited:
		return true
	default:
		return false
	}
}

// failed says what could not be done, and that the server is gone if it is.
func (c *child) failed(what string, err error) error {
	if c.Gone() {
		return c.explain(fmt.Errorf("%s: it has ended: %w", what, c.ending()))
	}
	return fmt.Errorf("%s: %w", what, err)
}

// CPU returns the CPU time that the server has used, and whether it is known:
// once it has ended everywhere, before that on Linux alone.
func (c *child) CPU() (used time.Duration, known bool) {
	select {
	case <-c.exited:
		return c.cmd.ProcessState.UserTime() + c.cmd.ProcessState.SystemTime(), true
	default:
		used, err := host.ProcessCPU(c.PID)
		return used, err == nil
	}
}

// Close ends the child and waits for it. A child that had ended by itself
// before, or that has to be killed, is an error. It may be called twice.
func (c *child) Close() error {
	select {
	case <-c.exited:
		return c.explain(fmt.Errorf("the built-in server ended by itself: %w", c.ending()))
	default:
	}
	c.stdin.Close()
	patience := time.NewTimer(childStop)
	defer patience.Stop()
	select {
	case <-c.exited:
		return nil
	case <-patience.C:
		c.kill()
		return c.explain(fmt.Errorf("the built-in server did not end within %v and was killed", childStop))
	}
}

// controlClient calls a control endpoint.
type controlClient struct {
	base  string
	token string
	http  *http.Client
}

// do calls path and decodes the answer into out, unless that is nil.
func (c controlClient) do(ctx context.Context, method, path string, out any) error {
	return c.call(ctx, method, path, nil, out)
}

// send posts in as JSON.
func (c controlClient) send(ctx context.Context, path string, in any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	return c.call(ctx, http.MethodPost, path, body, nil)
}

// fetch returns what is at path.
func (c controlClient) fetch(ctx context.Context, path string) ([]byte, error) {
	resp, err := c.ask(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return io.ReadAll(resp.Body)
}

// ask returns an answer that is no error.
func (c controlClient) ask(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Authorization", "Bearer "+c.token)
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode >= 300 {
		defer resp.Body.Close()
		said, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
		return nil, fmt.Errorf("%s: %s", resp.Status, strings.TrimSpace(string(said)))
	}
	return resp, nil
}

func (c controlClient) call(ctx context.Context, method, path string, body []byte, out any) error {
	resp, err := c.ask(ctx, method, path, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if out == nil {
		return nil
	}
	return json.NewDecoder(resp.Body).Decode(out)
}
