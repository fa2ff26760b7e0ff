package live

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"knee/generator/plan"
)

// Schedule has the next Run carry out cues. Each is called at its instant, or as
// soon as those before it have returned, by a goroutine that carries out nothing
// else: it may take its time, and the sending goes on meanwhile. Run waits for
// the one that is under way, and for those that are due by the end of the plan;
// once the run is stopped, no further one is begun.
func (d *Driver) Schedule(cues []plan.Cue) {
	d.cues = slices.Clone(cues)
	slices.SortStableFunc(d.cues, func(a, b plan.Cue) int { return cmp.Compare(a.At, b.At) })
}

// carryOutCues begins to carry out the cues of a plan that lasts from start to
// end, and returns what waits until that is done. It is done early with ctx.
func (d *Driver) carryOutCues(ctx context.Context, start, end time.Duration) (wait func()) {
	cues := d.cues
	d.cues = nil
	if len(cues) == 0 {
		return func() {}
	}
	var running sync.WaitGroup
	running.Go(func() {
		timer := newTimerPacer(d.Now)
		defer timer.release()
		for _, c := range cues {
			at := start + c.At
			if at > end || ctx.Err() != nil {
				return
			}
			timer.until(at, ctx.Done())
			if ctx.Err() != nil {
				return
			}
			c.Do(d.Now())
		}
	})
	return running.Wait
}
