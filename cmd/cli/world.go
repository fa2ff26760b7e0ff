// Package cli is the command line: one file per verb, and the seams to the world outside the process.
package cli

import (
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"golang.org/x/term"
)

// A world is everything outside the process that a verb may touch. Scripts and
// tests hand in their own.
type world struct {
	args   []string // without the program's name
	env    func(key string) (value string, set bool)
	stdin  io.Reader
	stdout io.Writer
	stderr io.Writer
	// terminal says whether progress may be drawn: stdin and stderr are terminals.
	terminal bool
	// colour says whether stdout is a terminal.
	colour bool
	now    func() time.Time
	// interrupts delivers SIGINT and SIGTERM until stop is called.
	interrupts func() (signals <-chan os.Signal, stop func())
	// leave ends the process at once: the second interrupt.
	leave func(code int)
}

// Main runs knee with the arguments and streams of the process and returns its
// exit code.
func Main() int {
	// net/http reports oddities of servers through the standard logger. They are
	// data here, counted by kind; stderr is for people.
	log.SetOutput(io.Discard)
	setCollector(os.LookupEnv)
	return run(context.Background(), &world{
		args:       os.Args[1:],
		env:        os.LookupEnv,
		stdin:      os.Stdin,
		stdout:     os.Stdout,
		stderr:     os.Stderr,
		terminal:   isTerminal(os.Stdin) && isTerminal(os.Stderr),
		colour:     isTerminal(os.Stdout),
		now:        time.Now,
		interrupts: osInterrupts,
		leave:      os.Exit,
	})
}

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

func osInterrupts() (<-chan os.Signal, func()) {
	c := make(chan os.Signal, 2)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	return c, func() { signal.Stop(c) }
}

// plain says whether the output must be plain lines: no terminal, CI, a dumb
// terminal, or asked for.
func (w *world) plain(noTUI bool) bool {
	if noTUI || !w.terminal {
		return true
	}
	if _, ci := w.env("CI"); ci {
		return true
	}
	t, _ := w.env("TERM")
	return t == "" || t == "dumb"
}

// inColour says whether stdout takes colour under --color mode.
func (w *world) inColour(mode string) bool {
	switch mode {
	case "always":
		return true
	case "never":
		return false
	}
	if _, no := w.env("NO_COLOR"); no {
		return false
	}
	t, _ := w.env("TERM")
	return w.colour && t != "" && t != "dumb"
}

// version is what `knee version` prints: the module's version when it was
// installed as one, else the revision it was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	revision, dirty := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision" && len(s.Value) >= 12:
			revision = s.Value[:12]
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+changes"
		}
	}
	if revision == "" {
		return "devel"
	}
	return fmt.Sprintf("devel-%s%s", revision, dirty)
}
