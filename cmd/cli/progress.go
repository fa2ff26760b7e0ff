package cli

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"knee/analysis"
	"knee/generator/record"
	"knee/tui"
)

// A progress says on stderr how far a run is: as a view on a terminal, as lines
// elsewhere.
type progress struct {
	s  *session
	mu sync.Mutex
	tui.Snapshot
}

// refresh is how often the view is drawn anew. Lines come less often.
const (
	refresh   = 100 * time.Millisecond
	lineEvery = 5 * time.Second
)

func newProgress(s *session) *progress { return &progress{s: s} }

// start shows progress of a run that takes total, until stop is called. The
// context that it returns is cancelled when the user asks the view to stop.
func (p *progress) start(ctx context.Context, total time.Duration) (_ context.Context, stop func()) {
	p.Total = total
	ctx, cancel := context.WithCancelCause(ctx)
	if p.s.o.quiet || p.s.o.virtual {
		return ctx, func() { cancel(nil) }
	}
	shown := make(chan struct{})
	updates := make(chan tui.Snapshot)
	quit := make(chan struct{})
	go func() {
		defer close(shown)
		if p.s.w.plain(p.s.o.noTUI) {
			p.lines(updates)
			return
		}
		interrupted := func() { cancel(&interrupt{signal: os.Interrupt}) }
		if err := tui.Run(context.WithoutCancel(ctx), p.s.w.stdin, p.s.w.stderr, updates, interrupted); err != nil {
			fmt.Fprintf(p.s.w.stderr, "knee: progress: %v\n", err)
		}
	}()
	go p.feed(updates, quit, shown)
	return ctx, func() {
		close(quit)
		<-shown
		cancel(nil)
	}
}

// feed sends a snapshot now and then until quit, and closes updates.
func (p *progress) feed(updates chan<- tui.Snapshot, quit, gone <-chan struct{}) {
	defer close(updates)
	tick := time.NewTicker(refresh)
	defer tick.Stop()
	for {
		select {
		case <-quit:
			return
		case <-gone:
			<-quit
			return
		case <-tick.C:
		}
		select {
		case updates <- p.now():
		case <-quit:
			return
		case <-gone:
		}
	}
}

// lines prints lines until updates is closed.
func (p *progress) lines(updates <-chan tui.Snapshot) {
	plain := tui.NewPlain(p.s.w.stderr, lineEvery)
	for s := range updates {
		if plain.Update(s.Done, s) != nil {
			continue // nobody reads stderr; the run goes on
		}
	}
}

// now returns the state of the run.
func (p *progress) now() tui.Snapshot {
	recent := p.s.series.Snapshot(5)
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.Snapshot
	s.Done = p.s.w.now().Sub(p.s.began)
	var good uint64
	for _, w := range recent.Recent {
		good += w.Good
	}
	if n := len(recent.Recent); n > 0 {
		s.Goodput = float64(good) / (float64(n) * record.Window.Seconds())
	}
	s.Points = append([]tui.Point(nil), s.Points...)
	return s
}

// load says what is offered from now on.
func (p *progress) load(stage string, rate float64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Stage, p.Load = stage, rate
	if c := p.s.capacity(); c > 0 {
		p.LoadX = rate / c
	}
}

// point adds a load that was measured.
func (p *progress) point(s analysis.Step) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Points = append(p.Points, tui.Point{Load: s.OfferedRPS, Goodput: s.GoodputRPS})
}

// say prints a line on stderr, unless progress is not wanted.
func (p *progress) say(format string, args ...any) {
	if !p.s.o.quiet {
		fmt.Fprintf(p.s.w.stderr, "knee: "+format+"\n", args...)
	}
}
