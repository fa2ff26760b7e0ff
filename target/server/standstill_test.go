package server_test

import (
	"math"
	"testing"
	"time"

	"knee/target/fault"
	"knee/target/protection"
	"knee/target/server"
)

func paused(c *fault.Conditions) { c.Paused = true }

// ticking wants to be called every 10 ms, and lets requests wait 15 ms.
type ticking struct {
	expiring
	at []time.Duration
}

func (p *ticking) Tick(now time.Duration, _ protection.Load) time.Duration {
	p.at = append(p.at, now)
	return now + 10*ms
}

// A process that stands still neither sweeps nor ticks: all that was due comes
// when it goes on, and only then does it see who came meanwhile.
func TestAPauseHoldsUpSweepsAndTicks(t *testing.T) {
	for _, how := range []string{"ends by itself", "is lifted"} {
		t.Run(how, func(t *testing.T) {
			p := new(ticking)
			c := newCore(t, server.Spec{Workers: 1, Chain: []server.Link{linkTo(p), chainNamed("queue_bound:count=1")[0]}})
			pause := &bent{until: 47 * ms, before: paused, after: healthy}
			if how == "is lifted" {
				pause.until = protection.Never - 1
			}
			c.Arrive(0, request(1, 0)) // until 10 ms, of which 5 pass before the pause
			c.Arrive(1*ms, request(2, 1*ms))
			c.Inject(5*ms, pause)
			c.Arrive(20*ms, request(3, 20*ms)) // finds the queue full, if the second is still there
			c.Advance(46 * ms)
			wantEffects(t, c)
			if how == "is lifted" {
				c.Lift(47*ms, pause)
				if next := c.Next(); next != 47*ms {
					t.Errorf("the core wants to be woken at %v, want at once: somebody waits outside", next)
				}
			}
			c.Advance(60 * ms)
			wantEffects(
				t, c,
				told{server.Refuse, 2, 47 * ms, "tired"}, // due at 16 ms
				told{server.Reply, 1, 52 * ms, ""},
			)
			if got, want := p.at, []time.Duration{0, 47 * ms, 57 * ms}; len(got) != 3 || got[1] != want[1] || got[2] != want[2] {
				t.Errorf("ticks at %v, want them at %v", got, want)
			}
			if g := c.Gauges(60 * ms); g.Running != 1 || g.Waiting != 0 {
				t.Errorf("%d run and %d wait, want the third to have been let in", g.Running, g.Waiting)
			}
		})
	}
}

// flicker changes the pace from 3 to 7 and back every few microseconds.
type flicker struct{ began, every time.Duration }

func (f *flicker) Bend(now time.Duration, c *fault.Conditions) time.Duration {
	n := (now - f.began) / f.every
	c.WorkFactor = 3
	if n%2 == 1 {
		c.WorkFactor = 7
	}
	return f.began + (n+1)*f.every
}

// However often the pace changes, no work is lost on the way.
func TestChangesOfPaceAreExact(t *testing.T) {
	const every = 10_001 // ns
	c := newCore(t, server.Spec{Workers: 1})
	c.Arrive(0, request(1, 0))
	c.Inject(0, &flicker{every: every})
	c.Advance(time.Second)
	left, want := float64(10*ms), 0.0
	for factor := 3.0; ; factor = 10 - factor {
		if done := every / factor; done < left {
			left -= done
			want += every
			continue
		}
		want += left * factor
		break
	}
	e := c.Effects()
	if len(e) != 1 || math.Abs(float64(e[0].At)-want) > 2 {
		t.Errorf("effects %+v, want an answer at %v, give or take the rounding of one instant", e, time.Duration(want))
	}
}

// Work outside takes as long as those busy at its start make it take.
func TestContentionOfWorkOutside(t *testing.T) {
	c := newCore(t, server.Spec{Workers: 3, External: true})
	c.Inject(0, constantly(func(c *fault.Conditions) { c.Contention = 0.5 }))
	for id := range uint64(3) {
		c.Arrive(0, request(id, 0))
	}
	for i, e := range c.Effects() {
		if want := time.Duration(10+5*i) * ms; e.Kind != server.Start || e.Work != want {
			t.Errorf("start %d: %+v, want work of %v", i, e, want)
		}
	}
}

// With batches of 20 a worker gets through 100,000 items a second, and a queue
// that is bounded by its wait has to know.
func TestTheCostRateOfBatches(t *testing.T) {
	const us = time.Microsecond
	c, err := server.New(server.Spec{Workers: 1, Service: 5 * us, Batch: server.Batch{Size: 20, Overhead: 100 * us}, Order: orderNamed("fifo")})
	if err != nil {
		t.Fatal(err)
	}
	if got := c.Gauges(0).CostRate; got != 100_000 {
		t.Errorf("a new server declares %v/s, want 100000/s", got)
	}
	for id := range uint64(20_000) {
		r := request(id, 0)
		r.Work = 5 * us
		c.Arrive(0, r)
	}
	c.Advance(100 * ms)
	if got := c.Gauges(100 * ms).CostRate; math.Abs(got-100_000) > 1000 {
		t.Errorf("a busy server measures %v/s, want about 100000/s", got)
	}
}
