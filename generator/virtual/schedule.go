package virtual

import (
	"cmp"
	"slices"
	"time"

	"knee/generator/plan"
	"knee/target/fault"
	"knee/target/protection"
)

// Schedule has the next Run carry out cues, each exactly at its instant: what
// they change comes after the ends of work that are due then, and before all
// else. They are called by the goroutine that calls Run, and may use Inject,
// Lift and Change.
func (d *Driver) Schedule(cues []plan.Cue) {
	d.cues = slices.Clone(cues)
	slices.SortStableFunc(d.cues, func(a, b plan.Cue) int { return cmp.Compare(a.At, b.At) })
}

// Inject makes f bend the conditions of the one server from now on. It is not
// for a Target, which is told directly within a Change.
func (d *Driver) Inject(f fault.Fault) { d.Change(func(now time.Duration) { d.server.Inject(now, f) }) }

// Lift ends what Inject of the same fault began.
func (d *Driver) Lift(f fault.Fault) { d.Change(func(now time.Duration) { d.server.Lift(now, f) }) }

// Change has do change whoever takes the requests, at the present instant, and
// passes on what follows.
func (d *Driver) Change(do func(now time.Duration)) {
	do(d.now)
	d.serve()
}

// nextCue returns the instant of the next cue of a plan that began at start, and
// protection.Never when none is left until its end.
func (d *Driver) nextCue(start time.Duration) time.Duration {
	if len(d.cues) > 0 {
		if at := start + d.cues[0].At; at <= d.end {
			return at
		}
	}
	return protection.Never
}

// stepCue carries out the next cue.
func (d *Driver) stepCue(now time.Duration) {
	d.now = max(d.now, now)
	do := d.cues[0].Do
	d.cues = d.cues[1:]
	do(d.now)
	d.serve()
}
