package fleet

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// A Scaler changes the number of servers by how busy they are, or by how much is
// asked of them. It wants as many as make its signal Target:
//
//	wanted = ceil(servers · signal / Target), from Min to Max
//
// and changes nothing while signal is within a tenth of Target. Formula and
// tolerance are those of the horizontal autoscaler of Kubernetes.
type Scaler struct {
	Signal    string        // SignalCPU or SignalDemand; "" for no scaler
	Target    float64       // share of the workers' time, above 0, up to 1
	Min, Max  int           // servers; from 1 to MaxServers, Min not above the servers at the start, Max not below
	Interval  time.Duration // between two looks, each at the time since the last one; above 0
	UpDelay   time.Duration // from the decision until a new server takes requests
	DownAfter time.Duration // how long fewer must have been wanted; then as many stay as were wanted at most in that time
}

// What a Scaler may look at.
const (
	// SignalCPU is the share of the time that the workers in service worked.
	// Waiting for another layer is no work, and neither is a rejection, so a
	// server that sheds what it could not do looks as if all were well.
	SignalCPU = "cpu"
	// SignalDemand is the share of the workers' time that all requests which
	// came would have taken, those that were rejected included.
	SignalDemand = "demand"
)

func (s *Scaler) check(servers int) error {
	if s.Signal == "" {
		return nil
	}
	var errs []error
	if s.Signal != SignalCPU && s.Signal != SignalDemand {
		errs = append(errs, fmt.Errorf("autoscaler.signal is %q: want %s or %s", s.Signal, SignalCPU, SignalDemand))
	}
	if !(s.Target > 0 && s.Target <= 1) {
		errs = append(errs, fmt.Errorf("autoscaler.target is %v: want a share above 0, up to 1", s.Target))
	}
	if s.Min < 1 || s.Min > servers {
		errs = append(errs, fmt.Errorf("autoscaler.min is %d: want 1 to the servers at the start, %d", s.Min, servers))
	}
	if s.Max < servers || s.Max > MaxServers {
		errs = append(errs, fmt.Errorf("autoscaler.max is %d: want the servers at the start, %d, to %d", s.Max, servers, MaxServers))
	}
	if s.Interval <= 0 || s.UpDelay < 0 || s.DownAfter < 0 {
		errs = append(errs, fmt.Errorf("autoscaler.interval is %v, up_delay %v and down_after %v: want above 0, and at least 0", s.Interval, s.UpDelay, s.DownAfter))
	}
	return errors.Join(errs...)
}

// scaler is a Scaler at work.
type scaler struct {
	timer   timer
	looked  time.Duration // last
	arrived uint64        // of the layer's attempts, at the last look
	low     time.Duration // since when fewer servers were wanted
	isLow   bool
	high    int // most that were wanted since then
}

func (s *scaler) begin(l *layer) {
	do := s.timer.do
	*s = scaler{looked: l.fleet.now, arrived: l.counts.attempts}
	s.timer.do = do
	if l.Scaler.Signal != "" {
		l.fleet.timers.set(&s.timer, l.fleet.now+l.Scaler.Interval)
	}
}

// tolerance is how far the signal may be from the target, as a share of it,
// before the scaler acts.
const tolerance = 0.1

// scale looks at the time since the last look.
func (l *layer) scale() {
	f, s := l.fleet, &l.scaler
	f.timers.set(&s.timer, f.now+l.Scaler.Interval)
	ready, coming := 0, 0
	var busy, there, asked float64
	span := float64(f.now - s.looked)
	for i, n := range l.nodes {
		n.measure()
		busy += float64(n.busy)
		n.busy = 0
		switch {
		case n.life == on:
			ready++
			there += span * float64(l.service[i].Workers)
		case n.life == booting:
			coming++
		}
	}
	asked = float64(l.counts.attempts-s.arrived) * float64(l.service[0].Service)
	s.looked, s.arrived = f.now, l.counts.attempts
	if there == 0 {
		return
	}
	signal := busy / there
	if l.Scaler.Signal == SignalDemand {
		signal = asked / there
	}
	wanted := ready
	if ratio := signal / l.Scaler.Target; math.Abs(ratio-1) > tolerance {
		wanted = int(math.Ceil(float64(ready) * ratio))
	}
	wanted = min(max(wanted, l.Scaler.Min), l.Scaler.Max)
	l.resize(ready+coming, wanted)
}

// resize makes the layer have as many servers as are wanted, up at once and down
// only after a while.
func (l *layer) resize(have, wanted int) {
	s, now := &l.scaler, l.fleet.now
	if wanted >= have {
		s.isLow = false
		for range wanted - have {
			l.boot()
		}
		return
	}
	if !s.isLow {
		s.isLow, s.low, s.high = true, now, 0
	}
	s.high = max(s.high, wanted)
	if now-s.low < l.Scaler.DownAfter {
		return
	}
	for range have - s.high {
		l.shrink()
	}
	s.isLow = false
}

// boot starts a server that is off, or calls one back that is about to be.
func (l *layer) boot() {
	var ended *node
	for _, n := range l.nodes {
		switch {
		case n.life == draining && !n.idle():
			n.life = on
			l.fleet.notice(n, Started)
			l.refresh()
			return
		case ended == nil && (n.life == off || n.life == draining):
			ended = n
		}
	}
	ended.life = booting
	l.fleet.timers.set(&ended.booted, l.fleet.now+l.Scaler.UpDelay)
}

// start puts a server that was booting into service.
func (n *node) start() {
	n.life = on
	n.reset()
	n.fleet.notice(n, Started)
	n.layer.refresh()
}

// shrink takes the last server out of service. What is inside goes on.
func (l *layer) shrink() {
	for i := len(l.nodes) - 1; i >= 0; i-- {
		switch n := l.nodes[i]; n.life {
		case booting:
			n.life = off
			l.fleet.timers.stop(&n.booted)
			return
		case on:
			n.life = draining
			l.fleet.notice(n, Stopped)
			l.refresh()
			return
		}
	}
}
