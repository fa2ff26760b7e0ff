package live

import (
	"context"
	"errors"
	"net"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"knee/generator/plan"
)

// prompt is a server on a fake clock that answers at once.
func prompt() *memoryServer {
	return &memoryServer{talk: keepAnswering(func(c net.Conn) bool { write(c, ok200); return true })}
}

// A cue that takes its time delays the next one, and nothing that is sent.
func TestCuesDoNotDelayTheSending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := trip{url: "http://server", rate: 10, length: 2 * time.Second, options: inMemory(prompt(), Options{})}
		d, series, p := tr.start(t)
		defer d.Close()
		var at []time.Duration
		note := func(now time.Duration) { at = append(at, now) }
		d.Schedule([]plan.Cue{
			{At: 2 * time.Second, Do: note}, // the very end of the plan
			{At: 2*time.Second + 1, Do: note},
			{At: 300 * time.Millisecond, Do: note},
			{At: 0, Do: func(now time.Duration) { note(now); time.Sleep(700 * time.Millisecond) }},
		})
		if err := d.Run(t.Context(), 0, p); err != nil {
			t.Fatal(err)
		}
		if want := []time.Duration{0, 700 * time.Millisecond, 2 * time.Second}; !slices.Equal(at, want) {
			t.Errorf("cues at %v, want them at %v", at, want)
		}
		if step := series.Steps()[0]; step.Lag.Max != 0 || step.Total.Good != 20 {
			t.Errorf("%d of 20 are good, the lag is up to %v: want all, and none", step.Total.Good, step.Lag.Max)
		}
		at = nil
		if err := d.Run(t.Context(), 1, p); err != nil {
			t.Fatal(err)
		}
		if len(at) != 0 {
			t.Errorf("the next run had cues at %v, want none of its own", at)
		}
	})
}

// A run that is stopped waits for the cue that is under way, and begins no other.
func TestNoCueBeginsAfterTheRunWasStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tr := trip{url: "http://server", rate: 10, length: 2 * time.Second, options: inMemory(prompt(), Options{})}
		d, _, p := tr.start(t)
		defer d.Close()
		ctx, stop := context.WithCancelCause(t.Context())
		why := errors.New("enough")
		var done, never bool
		d.Schedule([]plan.Cue{
			{At: time.Second, Do: func(time.Duration) { stop(why); time.Sleep(time.Second / 2); done = true }},
			{At: time.Second, Do: func(time.Duration) { never = true }},
		})
		if err := d.Run(ctx, 0, p); !errors.Is(err, why) {
			t.Errorf("the run ended with %v, want its cause", err)
		}
		if !done || never {
			t.Errorf("the cue under way was waited for: %v; the next one was begun: %v", done, never)
		}
	})
}
