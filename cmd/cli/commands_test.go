package cli

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"

	"knee/generator/live"
)

// freeAddress returns an address on loopback at which nothing listens.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// Each build is a fresh process, one at a time, and none is left.
func TestCommandsTakeTurns(t *testing.T) {
	if testing.Short() {
		t.Skip("starts servers")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	at := freeAddress(t)
	// The second one leaves the server to a shell that waits for it.
	o := &runOptions{url: "http://" + at + "/", pair: &pairOptions{
		baseline:  fmt.Sprintf("exec %s serve --null --listen %s", self, at),
		candidate: fmt.Sprintf("%s serve --null --listen %s & wait", self, at),
	}}
	c, err := newCommands(o)
	if err != nil {
		t.Fatal(err)
	}
	turned := 0
	c.turned = func(to *live.Target) error {
		if to.Address() != at {
			t.Errorf("turned to %s, want %s", to.Address(), at)
		}
		turned++
		return nil
	}
	seen := map[int]bool{}
	for i, candidate := range []bool{false, true, true, false} {
		if err := c.turn(t.Context(), candidate); err != nil {
			t.Fatal(err)
		}
		if !c.answers(t.Context()) {
			t.Errorf("turn %d: nothing answers", i)
		}
		if pid := c.running.cmd.Process.Pid; seen[pid] {
			t.Errorf("turn %d: process %d again, want a fresh one", i, pid)
		} else {
			seen[pid] = true
		}
	}
	if turned != 4 {
		t.Errorf("the generator turned %d times, want 4", turned)
	}
	if err := c.start(t.Context(), false); err == nil || !strings.Contains(err.Error(), "answers at "+at+" already") {
		t.Errorf("a second server at the address: %v", err)
	}
	if err := c.close(); err != nil {
		t.Fatal(err)
	}
	if c.answers(t.Context()) {
		t.Error("something answers after the end")
	}
}

// Who stops knee while a server starts does not wait for it.
func TestCommandsAreInterrupted(t *testing.T) {
	o := &runOptions{url: "http://" + freeAddress(t) + "/", pair: &pairOptions{baseline: "sleep 60", candidate: "sleep 60"}}
	c, err := newCommands(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(&interrupt{})
	if err := c.start(ctx, false); err == nil {
		t.Error("no error")
	}
	if c.running != nil {
		t.Error("the command runs on")
	}
}
