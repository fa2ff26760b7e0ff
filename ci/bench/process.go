package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"knee/generator/host"
)

// A usage is what a process took.
type usage struct {
	CPU    time.Duration // user and system time
	Peak   int64         // most memory that was resident at once, in bytes; 0 when unknown
	Memory []resident
}

// A resident is how much memory of a process was resident at an instant.
type resident struct {
	At    time.Duration // since it was started
	Bytes int64
}

// patience is how much longer than its span a tool may take.
const patience = 20 * time.Second

// sampling is how often the memory of a process is looked at. Its peak cannot be
// had from the kernel afterwards: what a process was before it became the tool, a
// copy of this one, counts there too.
const sampling = 100 * time.Millisecond

// run starts a program on the given CPUs, waits until it has ended, and returns what it
// printed and took. It is interrupted when it takes longer than span and
// patience, or ctx is done, and killed when that does not help.
func run(ctx context.Context, c command, on host.CPUs, span time.Duration) (stdout []byte, u usage, err error) {
	ctx, cancel := context.WithTimeout(ctx, span+patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.path, c.args...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 5 * time.Second
	cmd.Env = append(os.Environ(), c.env...)
	cmd.Stdin = strings.NewReader(c.stdin)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	if err := startOn(on, cmd); err != nil {
		return nil, usage{}, err
	}
	ended := make(chan struct{})
	sampled := make(chan usage)
	go func() { sampled <- sample(cmd.Process.Pid, ended) }()
	err = cmd.Wait()
	close(ended)
	u = <-sampled
	u.CPU = cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	if err != nil {
		err = fmt.Errorf("%s: %w: %s", c.path, err, lastLine(stderr.Bytes()))
	}
	return out.Bytes(), u, err
}

// sample follows the memory of a process until it has ended.
func sample(pid int, ended <-chan struct{}) (u usage) {
	started := time.Now()
	ticks := time.NewTicker(sampling)
	defer ticks.Stop()
	for {
		select {
		case <-ended:
			return u
		case <-ticks.C:
			now, peak := memoryOf(pid)
			if now == 0 {
				continue
			}
			u.Peak = max(u.Peak, peak)
			u.Memory = append(u.Memory, resident{At: time.Since(started), Bytes: now})
		}
	}
}

// residentAt returns the median of the memory between two instants, 0 when none
// is known.
func (u usage) residentAt(from, to time.Duration) float64 {
	var x []float64
	for _, m := range u.Memory {
		if m.At >= from && m.At <= to {
			x = append(x, float64(m.Bytes))
		}
	}
	if len(x) == 0 {
		return 0
	}
	return spreadOf(x).Median
}

// lastLine returns the last line of a text that is not empty.
func lastLine(text []byte) string {
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return lines[len(lines)-1]
}
