package fleet

import (
	"errors"
	"fmt"
	"math"
	"time"

	"knee/target/plugin"
)

// A Scaler changes the number of servers by how busy they are, or by how much is
// asked of them. It wants as many as make its signal Target:
//
//	wanted = ceil(servers · signal / Target), from Min to Max
//
// and changes nothing while signal is within a tenth of Target. Formula and
// tolerance are those of the horizontal autoscaler of Kubernetes.
type Scaler struct {
	Signal    string        `yaml:"signal" doc:"cpu: share of the time that workers worked, or demand: share that all requests would have taken, rejected ones included; default cpu"`
	Target    float64       `yaml:"target" doc:"what the signal is to be, above 0, up to 1; default 0.7"`
	Min       int           `yaml:"min" doc:"fewest servers, from 1 to the number at the start; default 1"`
	Max       int           `yaml:"max" doc:"most servers, from the number at the start to 1000; there is no default"`
	Interval  time.Duration `yaml:"interval" doc:"between two looks at the signal, above 0; default 5s"`
	UpDelay   time.Duration `yaml:"up_delay" doc:"from the decision until a new server takes requests; default 10s"`
	DownAfter time.Duration `yaml:"down_after" doc:"how long fewer servers must have been wanted until as many go as were not wanted in all that time; default 30s"`
}

// What a Scaler may look at. Waiting for another layer is no work, and a
// rejection hardly is: a server that sheds what it cannot do looks, by its CPU,
// as if all were well.
const (
	SignalCPU    = "cpu"
	SignalDemand = "demand"
)

// DefaultScaler returns the defaults. Kubernetes looks every 15s and waits for 5
// minutes before it takes servers away.
func DefaultScaler() Scaler {
	return Scaler{Signal: SignalCPU, Target: 0.7, Min: 1, Interval: 5 * time.Second, UpDelay: 10 * time.Second, DownAfter: 30 * time.Second}
}

// Check returns a *plugin.KnobError for each field out of range, joined, given
// the number of servers at the start. It is asked of servers that are scaled only.
func (s *Scaler) Check(servers int) error {
	var errs []error
	if s.Signal != SignalCPU && s.Signal != SignalDemand {
		errs = append(errs, plugin.Knob("signal", fmt.Sprintf("%q", s.Signal), SignalCPU+" or "+SignalDemand))
	}
	if !(s.Target > 0 && s.Target <= 1) {
		errs = append(errs, plugin.Knob("target", s.Target, "a share above 0, up to 1"))
	}
	if s.Min < 1 || s.Min > servers {
		errs = append(errs, plugin.Knob("min", s.Min, fmt.Sprintf("1 to the number of servers at the start, %d", servers)))
	}
	if s.Max < servers || s.Max > MaxServers {
		errs = append(errs, plugin.Knob("max", s.Max, fmt.Sprintf("the number of servers at the start, %d, to %d", servers, MaxServers)))
	}
	if s.Interval <= 0 {
		errs = append(errs, plugin.Knob("interval", s.Interval, "a duration above 0"))
	}
	if s.UpDelay < 0 {
		errs = append(errs, plugin.Knob("up_delay", s.UpDelay, "a duration of at least 0"))
	}
	if s.DownAfter < 0 {
		errs = append(errs, plugin.Knob("down_after", s.DownAfter, "a duration of at least 0"))
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
