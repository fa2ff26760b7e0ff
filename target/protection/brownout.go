package protection

import (
	"errors"
	"strconv"
	"time"

	"knee/target/plugin"
)

func init() {
	Registry.Register(plugin.Info[New]{
		Name:  "brownout",
		Doc:   "gives cheaper answers under load, to all (switch) or to the share that holds a response time (dimmer); refuses nothing",
		Worse: "alone: beyond what the cheaper answers can carry it does nothing more, so it needs a bound behind it; and where the target's degraded answers take as long as full ones",
		Knobs: func() any {
			return &brownoutKnobs{
				Mode: brownoutSwitch, Period: 50 * time.Millisecond,
				Signal: signalWait, Setpoint: 100 * time.Millisecond,
				High: 0.4, HighFor: 0, Low: 0.1, LowFor: 100 * time.Millisecond, Dwell: 500 * time.Millisecond,
				Gain: 0.0003, Quantile: 0.95,
			}
		},
		New: newBrownout,
	})
}

// The modes of brownout.
const (
	brownoutSwitch = "switch"
	brownoutDimmer = "dimmer"
)

type brownoutKnobs struct {
	Mode     string        `yaml:"mode" doc:"switch (all answers are cheaper while it is on) or dimmer (a share of the answers is)"`
	Period   time.Duration `yaml:"period" doc:"time between two looks, at least 1ms; with dimmer at least as long as a hundred requests take to come in"`
	Signal   string        `yaml:"signal" doc:"of switch, what load is: wait (cost in the queue at the rate measured), age (of the oldest in the queue) or in_flight (requests inside)"`
	Setpoint time.Duration `yaml:"setpoint" doc:"of switch, wait or age that is load 1; of dimmer, response time at the server to hold; a duration above 0"`
	InFlight int           `yaml:"in_flight" doc:"of switch, requests inside that are load 1, at least 1; 0 means what the workers and a queue of one setpoint hold as declared"`
	High     float64       `yaml:"high" doc:"of switch, load from which it goes on, above 0"`
	HighFor  time.Duration `yaml:"high_for" doc:"of switch, how long load has to be at high before it goes on, a duration of at least 0"`
	Low      float64       `yaml:"low" doc:"of switch, load up to which it goes off, at least 0, below high"`
	LowFor   time.Duration `yaml:"low_for" doc:"of switch, how long load has to be at low before it goes off, a duration of at least 0"`
	Dwell    time.Duration `yaml:"dwell" doc:"of switch, how long it stays on or off at least, a duration of at least 0"`
	Gain     float64       `yaml:"gain" doc:"of dimmer, share of full answers to take away for each millisecond that the response time is too long, at each look, from 0 to 1; more reacts sooner and swings more"`
	Quantile float64       `yaml:"quantile" doc:"of dimmer, quantile of the response times since the last look that is held at setpoint, above 0, below 1"`
}

func newBrownout(s Setup, knobs any) (Protection, error) {
	k := knobs.(*brownoutKnobs)
	signal, err := newLoadSignal(s, k.Signal, k.Setpoint, k.InFlight)
	errs := []error{err}
	bad := func(knob string, is any, want string) { errs = append(errs, plugin.Knob(knob, is, want)) }
	if k.Mode != brownoutSwitch && k.Mode != brownoutDimmer {
		bad("mode", strconv.Quote(k.Mode), "switch or dimmer")
	}
	if k.Period < time.Millisecond {
		bad("period", k.Period, "a duration of at least 1ms")
	}
	if !(k.High > 0) { // not a number fails too
		bad("high", k.High, "a load above 0")
	} else if !(k.Low >= 0 && k.Low < k.High) {
		bad("low", k.Low, "a load of at least 0, below high")
	}
	if k.HighFor < 0 {
		bad("high_for", k.HighFor, "a duration of at least 0")
	}
	if k.LowFor < 0 {
		bad("low_for", k.LowFor, "a duration of at least 0")
	}
	if k.Dwell < 0 {
		bad("dwell", k.Dwell, "a duration of at least 0")
	}
	if !(k.Gain >= 0 && k.Gain <= 1) {
		bad("gain", k.Gain, "a share from 0 to 1")
	}
	if !(k.Quantile > 0 && k.Quantile < 1) {
		bad("quantile", k.Quantile, "a quantile above 0, below 1")
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	if k.Mode == brownoutDimmer {
		return &dimmer{
			period: k.Period, setpoint: k.Setpoint, gain: k.Gain, full: 1,
			responses: durations{quantile: k.Quantile}, rand: s.Rand,
		}, nil
	}
	return &brownout{
		signal: signal, period: k.Period, dwell: k.Dwell,
		high: k.High, highFor: k.HighFor, low: k.Low, lowFor: k.LowFor, since: -1, turned: -k.Dwell,
	}, nil
}

// brownout is a switch with hysteresis: it goes on when load has been at least
// high for a time, off when it has been at most low for a time, and stays as it is
// for a while after that, so that the load which the cheaper answers relieve does
// not turn it off at once. Between low and high it stays as it is.
//
// It looks once a period: between two looks nothing changes. Protected requests
// get the full answer.
type brownout struct {
	signal                 loadSignal
	period, dwell          time.Duration
	high, low              float64
	highFor, lowFor        time.Duration
	on                     bool
	turned, since, current time.Duration // since: when load came to where it would turn; -1 while it is not there
}

// Tick implements Ticker.
func (b *brownout) Tick(now time.Duration, l Load) time.Duration {
	b.current = max(b.current, now)
	load := b.signal.at(b.current, &l)
	there, long := load >= b.high, b.highFor
	if b.on {
		there, long = load <= b.low, b.lowFor
	}
	switch {
	case !there:
		b.since = -1
	case b.since < 0:
		b.since = b.current
	}
	if there && b.current-b.since >= long && b.current-b.turned >= b.dwell {
		b.on, b.turned, b.since = !b.on, b.current, -1
	}
	return b.current + b.period
}

func (b *brownout) Admit(_ time.Duration, r *Request, _ Load) Reason {
	if b.on && !r.Protected {
		r.Degraded = true
	}
	return ""
}

func (*brownout) Leave(time.Duration, *Request, End) {}
