package protection

import (
	"math"
	"math/rand/v2"
	"time"
)

// dimmer is the controller of "Brownout: Building More Robust Cloud Applications"
// (Klein et al., ICSE 2014) with an integral law in place of the paper's adaptive
// one: at each look, the share of full answers changes by
//
//	gain · (setpoint - response time)
//
// A queue adds up what is too much by itself, so that an integral law overshoots
// and swings around the setpoint, the more the larger the gain.
//
// The response time, in milliseconds, is a quantile of those since the last
// look, from arrival to the end of the work. What was dropped has none. When none
// ended at all, the oldest in the queue says how long it is at least; with lifo
// that may be one that is never served. When nothing is inside either, the share
// stays as it is. Protected requests get the full answer.
type dimmer struct {
	period, setpoint time.Duration
	gain             float64
	full             float64 // share of full answers, from 0 to 1
	responses        durations
	last             time.Duration
	rand             *rand.Rand
}

// Tick implements Ticker.
func (d *dimmer) Tick(now time.Duration, l Load) time.Duration {
	d.last = max(d.last, now)
	response, ok := d.responses.take()
	if !ok && l.Waiting > 0 {
		response, ok = d.last-l.Oldest, true
	}
	if ok {
		d.adjust(response)
	}
	return d.last + d.period
}

// adjust changes the share of full answers at a response time.
func (d *dimmer) adjust(response time.Duration) {
	d.full += d.gain * float64(d.setpoint-response) / float64(time.Millisecond)
	d.full = min(max(0, d.full), 1)
}

func (d *dimmer) Admit(_ time.Duration, r *Request, _ Load) Reason {
	if d.full < 1 && !r.Protected && d.rand.Float64() >= d.full {
		r.Degraded = true
	}
	return ""
}

func (d *dimmer) Leave(_ time.Duration, _ *Request, e End) {
	if e.Outcome != Dropped {
		d.responses.add(e.Waited + e.Served)
	}
}

// durations finds a quantile of the durations added since the last take, to 1/32.
type durations struct {
	quantile float64
	n        int
	count    [bins]uint32
}

func (s *durations) add(d time.Duration) {
	s.n++
	s.count[binOf(max(d, 0))]++
}

// take returns the quantile and forgets the durations; false when there are none.
func (s *durations) take() (time.Duration, bool) {
	if s.n == 0 {
		return 0, false
	}
	rank := max(1, int(math.Ceil(s.quantile*float64(s.n))))
	seen, at := 0, 0
	for at = range s.count {
		if seen += int(s.count[at]); seen >= rank {
			break
		}
	}
	s.n = 0
	clear(s.count[:])
	return binTop(at), true
}
