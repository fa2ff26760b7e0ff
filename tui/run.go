package tui

import (
	"context"
	"errors"
	"io"

	tea "github.com/charmbracelet/bubbletea"
)

// Run shows progress on out until updates is closed or ctx is done, whose cause
// it then returns. Keys are read from in; nil reads none, and no terminal is
// opened for it. interrupt is called when the user asks to stop, which does not
// end the view: the run does, by closing updates. Nobody has to read updates
// once Run has returned.
//
// Signals stay with the caller, and Run leaves the terminal as it found it.
func Run(ctx context.Context, in io.Reader, out io.Writer, updates <-chan Snapshot, interrupt func()) error {
	program := tea.NewProgram(
		NewProgress(interrupt),
		tea.WithOutput(out),
		tea.WithInput(in), // of nil too: without it bubbletea looks for a terminal itself
		tea.WithContext(ctx),
		tea.WithoutSignalHandler(),
	)
	finished := make(chan struct{})
	forwarded := make(chan struct{})
	go func() {
		defer close(forwarded)
		forward(program, updates, finished)
	}()
	_, err := program.Run()
	close(finished)
	<-forwarded
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// forward passes snapshots to the program until either of them ends.
func forward(program *tea.Program, updates <-chan Snapshot, finished <-chan struct{}) {
	for {
		select {
		case s, open := <-updates:
			if !open {
				program.Send(over{})
				return
			}
			program.Send(s)
		case <-finished:
			return
		}
	}
}
