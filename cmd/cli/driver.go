package cli

import (
	"context"
	"time"

	"knee/generator/plan"
)

// A driver carries out plans, one after another, on one server whose state
// survives between them. The live one sends over sockets on the wall clock, the
// virtual one drives the server's core through an event heap. What became of the
// arrivals goes to the recorder that the driver was built with.
type driver interface {
	// Run offers p as part of a trial and returns when every arrival has ended.
	// When ctx is done no further arrivals come, and Run returns the cause.
	Run(ctx context.Context, trial int, p *plan.Plan) error
	// Perform does as Run with one plan after another and no gap between them: next
	// is asked for the first, and at the end of each for the one that begins there;
	// nil ends the load. highest is the highest rate of them all, in requests per
	// second.
	Perform(ctx context.Context, trial int, highest float64, next func(now time.Duration) *plan.Plan) error
	// RunClosed does as Run with the arrivals of p, which has one step, each as soon as
	// fewer than n originals are open.
	RunClosed(ctx context.Context, trial int, p *plan.Plan, n int) error
	// Cut ends the plan under way with the present record.Window.
	Cut()
	// Schedule has the next Run carry out cues at their instants.
	Schedule(cues []plan.Cue)
	// Reset drops the queue and the state of a built-in server.
	Reset(ctx context.Context) error
	// Now returns the instant on the run's clock.
	Now() time.Duration
	Close() error
}
