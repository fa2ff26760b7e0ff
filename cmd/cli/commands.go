package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"time"

	"knee/ci/verdict"
	"knee/generator/live"
)

// How long the server of a command may take.
const (
	commandStart = 60 * time.Second // from its start until it takes connections
	commandStop  = 10 * time.Second // from being told to end until it is killed
	commandFree  = 5 * time.Second  // from its end until nothing answers at its address any more
	commandLook  = 50 * time.Millisecond
)

// commands are builds that are started by commands of a shell. Both serve at one
// address, one at a time.
type commands struct {
	o       *runOptions
	target  *live.Target
	address string                   // HOST:PORT
	turned  func(*live.Target) error // the driver's, once there is one
	running *child
}

// newCommands returns the builds of --baseline-cmd and --candidate-cmd. Neither runs.
func newCommands(o *runOptions) (*commands, error) {
	to, err := live.ParseTarget(o.url)
	if err != nil {
		return nil, fail(verdict.CodeUsage, "--url: %w", err)
	}
	return &commands{o: o, target: to, address: to.Address()}, nil
}

func (c *commands) names() (baseline, candidate string) { return c.o.pair.baseline, c.o.pair.candidate }

// turn ends the build that runs and starts one.
func (c *commands) turn(ctx context.Context, candidate bool) error {
	if err := c.close(); err != nil {
		return err
	}
	if err := c.start(ctx, candidate); err != nil {
		return err
	}
	if c.turned == nil {
		return nil
	}
	if err := c.turned(c.target); err != nil {
		return fail(verdict.CodeNotStarted, "%w", err)
	}
	return nil
}

// start starts a build and waits until it takes connections.
func (c *commands) start(ctx context.Context, candidate bool) error {
	flag, line := "--baseline-cmd", c.o.pair.baseline
	if candidate {
		flag, line = "--candidate-cmd", c.o.pair.candidate
	}
	if c.answers(ctx) {
		return fail(verdict.CodeNotStarted, "%s: something answers at %s already: want an address that is free, where the command's server listens", flag, c.address)
	}
	b := &child{cmd: shell(line), stderr: &tail{}, exited: make(chan struct{})}
	b.cmd.Stdout, b.cmd.Stderr = b.stderr, b.stderr
	b.cmd.WaitDelay = childStop
	b.cmd.SysProcAttr = childAttributes()
	if err := b.run(nil); err != nil {
		return fail(verdict.CodeNotStarted, "%s: %w", flag, err)
	}
	c.running = b
	timeout := time.NewTimer(commandStart)
	defer timeout.Stop()
	look := time.NewTicker(commandLook)
	defer look.Stop()
	for !c.answers(ctx) {
		var err error
		select {
		case <-look.C:
			continue
		case <-b.exited:
			err = fmt.Errorf("it ended before anything answered at %s: %w", c.address, b.ending())
		case <-timeout.C:
			err = fmt.Errorf("nothing answered at %s within %v", c.address, commandStart)
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), c.close())
		}
		return errors.Join(fail(verdict.CodeNotStarted, "%s: %w", flag, b.explain(err)), c.close())
	}
	return nil
}

// answers says whether something takes connections at the address.
func (c *commands) answers(ctx context.Context) bool {
	d := net.Dialer{Timeout: time.Second}
	conn, err := d.DialContext(ctx, "tcp", c.address)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}

// close ends the build that runs, and all that it started.
func (c *commands) close() error {
	b := c.running
	if b == nil {
		return nil
	}
	c.running = nil
	endGroup(b.cmd.Process, false)
	kill := time.NewTimer(commandStop)
	defer kill.Stop()
	select {
	case <-b.exited:
	case <-kill.C:
	}
	endGroup(b.cmd.Process, true) // what the command started and left behind
	<-b.exited
	for deadline := time.Now().Add(commandFree); c.answers(context.Background()); {
		if time.Now().After(deadline) {
			return fail(verdict.CodeNotStarted, "something still answers at %s after the command %s was ended: want one that ends with what it starts", c.address, b.cmd.Args[len(b.cmd.Args)-1])
		}
		time.Sleep(commandLook)
	}
	return nil
}

// shell returns a command line of the shell.
func shell(line string) *exec.Cmd { return exec.Command(shellName, shellFlag, line) }
