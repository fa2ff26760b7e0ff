package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"knee/analysis"
	"knee/ci/verdict"
	"knee/generator/plan"
	"knee/generator/record"
)

// tripped is the cause of the end of a run that a guard has stopped.
type tripped struct {
	guard verdict.Guard
	found verdict.Value
	at    time.Duration // the end of the window that met its condition
}

func (t *tripped) Error() string {
	return fmt.Sprintf("stopped by the guard %q: it was %s by %v", t.guard, t.found, t.at.Round(time.Millisecond))
}

// A watch stops a load when a guard of the profile says so. It looks at the end of each
// window, when that is counted, on the goroutine that counts.
type watch struct {
	guards []verdict.Guard
	stop   context.CancelCauseFunc // of the load under way; nil: there is none
	from   int                     // window in which it began
}

// watched returns a context in which the load that begins now is stopped when a guard
// says so. over ends the watch, and says whether one did, where the load does not: it
// may have been cut short so that it ended by itself.
func (s *session) watched(ctx context.Context) (_ context.Context, over func() error) {
	if len(s.watch.guards) == 0 {
		return ctx, func() error { return nil }
	}
	ctx, stop := context.WithCancelCause(ctx)
	s.watch.stop, s.watch.from = stop, int(record.NextWindow(s.driver.Now())/record.Window)
	return ctx, func() error {
		s.watch.stop = nil
		defer stop(nil)
		if by := (*tripped)(nil); errors.As(context.Cause(ctx), &by) {
			return by
		}
		return nil
	}
}

// lookOut asks the guards whether window, the last one that is complete, is too much.
func (s *session) lookOut(window int) {
	w := &s.watch
	if w.stop == nil {
		return
	}
	windows := s.series.ByEnding()
	for _, g := range w.guards {
		n := int(g.For / record.Window)
		first := window + 1 - n
		if first < w.from || window >= len(windows) {
			continue
		}
		met, found := g.Met(s.lately(g, windows[first:window+1], first))
		if !met {
			continue
		}
		t := &tripped{guard: g, found: found, at: time.Duration(window+1) * record.Window}
		s.event(record.Event{At: t.at, Kind: "guard", Text: t.Error()})
		s.meta.Aborted = &analysis.Aborted{By: g.String(), AtS: t.at.Seconds(), Found: found.String()}
		w.stop(t)
		s.driver.Cut()
		w.stop = nil
		return
	}
}

// lately returns what a guard asks about windows, of which the first has this number.
func (s *session) lately(g verdict.Guard, windows []record.Counts, first int) verdict.Lately {
	l := verdict.Lately{Windows: windows, Capacity: s.capacity()}
	start := time.Duration(first) * record.Window
	end := start + g.For
	switch g.Metric {
	case "in_flight":
		l.InFlight = s.series.InFlight(start, end)
	case "good.p99":
		for _, step := range s.series.Steps() {
			for i, second := range step.Seconds {
				if at := step.Info.Start + time.Duration(i)*record.HistWindow; at >= start && at+record.HistWindow <= end && at < step.Info.Start+step.Info.Duration {
					l.P99 = append(l.P99, second.P99)
				}
			}
		}
	}
	return l
}

// How it is found out whether a server is itself again.
const (
	calmRate  = 10.0 // probes per second
	calmRound = 400 * time.Millisecond
	calmLimit = 10 * time.Second
)

// calm says whether the server serves a light load again after a guard has stopped a
// run, and its faults were taken out.
func (s *session) calm(ctx context.Context) {
	spec, err := s.profile.Workload()
	if err != nil || s.driver == nil {
		return
	}
	began := s.driver.Now()
	spec.Phases = []plan.Phase{{Kind: plan.Hold, Label: analysis.Drain, Rate: calmRate, For: calmRound}}
	for s.driver.Now() < began+calmLimit {
		spec.Seed = trialSeed(s.profile.Seed, s.trials)
		p, err := plan.New(spec)
		if err != nil {
			return
		}
		steps, err := s.offer(ctx, p)
		if err != nil {
			break
		}
		if drained(steps[0], s.longest()) {
			s.tellCalm(fmt.Sprintf("%.1f s after the load was stopped the server served a light one again", (s.driver.Now() - began).Seconds()))
			return
		}
	}
	s.tellCalm(fmt.Sprintf("%v after the load was stopped the server did not serve a light one yet", calmLimit))
}

func (s *session) tellCalm(text string) {
	s.event(record.Event{At: s.driver.Now(), Kind: "steady", Text: text})
	s.meta.Warnings = append(s.meta.Warnings, text)
}
