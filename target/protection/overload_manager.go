package protection

import (
	"errors"
	"math/rand/v2"
	"time"

	"knee/target/plugin"
)

// Why overload_manager refuses or drops.
const (
	ReasonOverloadStop    Reason = "overload_stop"    // it accepts nothing
	ReasonOverloadReject  Reason = "overload_reject"  // it drew the lot
	ReasonOverloadTimeout Reason = "overload_timeout" // it waited as long as the reduced timeout allows
)

func init() {
	Registry.Register(plugin.Info[New]{
		Name:  "overload_manager",
		Doc:   "turns the pressure on resources into actions: refuse a share or all, shorten timeouts, give cheaper answers (as Envoy's)",
		Worse: "on a queue, at Envoy's refresh of a second: it lets in or refuses all of a second's load on what it saw a second ago; with a refresh of 10ms it is about as good",
		Knobs: func() any {
			return &overloadManagerKnobs{
				Refresh: time.Second, Wait: 100 * time.Millisecond,
				Stop:   overloadTrigger{Threshold: 0.98},
				Reject: overloadTrigger{Scaling: 0.5, Saturation: 0.95},
			}
		},
		New: newOverloadManager,
	})
}

type overloadManagerKnobs struct {
	Refresh         time.Duration   `yaml:"refresh" doc:"time between two looks at the resources, at least 1ms; Envoy's default is 1s, far too slow for a queue of milliseconds"`
	Wait            time.Duration   `yaml:"wait" doc:"cost in the queue at the rate measured that is pressure 1, a duration above 0; 0 means not looked at"`
	Queue           int             `yaml:"queue" doc:"waiting requests that are pressure 1, at least 1; 0 means not looked at"`
	InFlight        int             `yaml:"in_flight" doc:"requests inside that are pressure 1, at least 1; 0 means not looked at"`
	Workers         float64         `yaml:"workers" doc:"share of the workers busy that is pressure 1, above 0, up to 1; 0 means not looked at"`
	Stop            overloadTrigger `yaml:"stop" doc:"refuse all while the state is 1 (stop_accepting_requests)"`
	Reject          overloadTrigger `yaml:"reject" doc:"refuse a share that is the state"`
	ReduceTimeouts  overloadTrigger `yaml:"reduce_timeouts" doc:"let requests wait for min + (time left to the deadline - min) · (1 - state)"`
	MinTimeout      time.Duration   `yaml:"min_timeout" doc:"min of reduce_timeouts, a duration of at least 0"`
	MinTimeoutScale float64         `yaml:"min_timeout_scale" doc:"min of reduce_timeouts as a share of the time left, from 0 to 1; not with min_timeout"`
	Degrade         overloadTrigger `yaml:"degrade" doc:"give the cheaper answer to a share that is the state"`
}

// An overloadTrigger turns pressure into the state of an action, from 0 to 1. That
// of two triggers is the higher state.
type overloadTrigger struct {
	Threshold  float64 `yaml:"threshold" doc:"pressure from which the state is 1, above 0, up to 1; 0 means none"`
	Scaling    float64 `yaml:"scaling" doc:"pressure up to which the state is 0; from here it rises to saturation; at least 0"`
	Saturation float64 `yaml:"saturation" doc:"pressure from which the state is 1, above scaling, up to 1; 0 means none"`
}

func (t overloadTrigger) check(action string) error {
	var errs []error
	bad := func(knob string, is any, want string) { errs = append(errs, plugin.Knob(action+"."+knob, is, want)) }
	if !(t.Threshold >= 0 && t.Threshold <= 1) { // not a number fails too
		bad("threshold", t.Threshold, "a pressure above 0, up to 1")
	}
	if !(t.Scaling >= 0 && t.Scaling <= 1) {
		bad("scaling", t.Scaling, "a pressure from 0 to 1")
	} else if !(t.Saturation >= 0 && t.Saturation <= 1) || t.Saturation > 0 && t.Saturation <= t.Scaling {
		bad("saturation", t.Saturation, "a pressure above scaling, up to 1")
	} else if t.Scaling > 0 && t.Saturation == 0 {
		bad("saturation", "not set", "a pressure above scaling, up to 1")
	}
	return errors.Join(errs...)
}

// state returns the state at a pressure: 0 at scaling and below, 1 at saturation
// or threshold and above.
func (t overloadTrigger) state(pressure float64) float64 {
	switch {
	case t.Threshold > 0 && pressure >= t.Threshold, t.Saturation > 0 && pressure >= t.Saturation:
		return 1
	case t.Saturation == 0 || pressure <= t.Scaling:
		return 0
	}
	return (pressure - t.Scaling) / (t.Saturation - t.Scaling)
}

// overloadManager is Envoy's: resource monitors say how much pressure there is,
// triggers turn it into the states of actions, and both happen once each refresh,
// so that between two looks nothing changes. The pressure is that of the resource
// under most of it, as Envoy takes the highest state of an action's triggers.
//
// Envoy has other resources (heap, CPU, downstream connections) and actions that a
// queue has no use for (shrinking the heap, closing connections). Its timers are
// those of connections and streams; here they are the time that a request may
// wait. Protected requests are let in whatever the state, keep their timeouts, and
// get the full answer.
type overloadManager struct {
	knobs overloadManagerKnobs
	rand  *rand.Rand

	last                          time.Duration // of the last look
	stop, reject, reduce, degrade float64       // states
}

func newOverloadManager(s Setup, knobs any) (Protection, error) {
	k := knobs.(*overloadManagerKnobs)
	errs := []error{k.Stop.check("stop"), k.Reject.check("reject"), k.ReduceTimeouts.check("reduce_timeouts"), k.Degrade.check("degrade")}
	bad := func(knob string, is any, want string) { errs = append(errs, plugin.Knob(knob, is, want)) }
	if k.Refresh < time.Millisecond {
		bad("refresh", k.Refresh, "a duration of at least 1ms")
	}
	if k.Wait < 0 {
		bad("wait", k.Wait, "a duration above 0")
	}
	if k.Queue < 0 {
		bad("queue", k.Queue, "a number of requests, at least 1")
	}
	if k.InFlight < 0 {
		bad("in_flight", k.InFlight, "a number of requests, at least 1")
	}
	if !(k.Workers >= 0 && k.Workers <= 1) { // not a number fails too
		bad("workers", k.Workers, "a share above 0, up to 1")
	}
	if k.Wait == 0 && k.Queue == 0 && k.InFlight == 0 && k.Workers == 0 {
		bad("wait", "not set", "one of wait, queue, in_flight, workers, for there to be pressure")
	}
	if k.MinTimeout < 0 {
		bad("min_timeout", k.MinTimeout, "a duration of at least 0")
	}
	if !(k.MinTimeoutScale >= 0 && k.MinTimeoutScale <= 1) {
		bad("min_timeout_scale", k.MinTimeoutScale, "a share from 0 to 1")
	} else if k.MinTimeoutScale > 0 && k.MinTimeout > 0 {
		bad("min_timeout_scale", k.MinTimeoutScale, "none beside min_timeout")
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &overloadManager{knobs: *k, rand: s.Rand}, nil
}

func (m *overloadManager) Tick(now time.Duration, l Load) time.Duration {
	m.last = max(m.last, now)
	pressure := m.pressure(&l)
	m.stop = m.knobs.Stop.state(pressure)
	m.reject = m.knobs.Reject.state(pressure)
	m.reduce = m.knobs.ReduceTimeouts.state(pressure)
	m.degrade = m.knobs.Degrade.state(pressure)
	return m.last + m.knobs.Refresh
}

// pressure returns the highest pressure of the resources looked at, from 0 to 1.
func (m *overloadManager) pressure(l *Load) float64 {
	pressure := 0.0
	take := func(p float64) {
		if !(p <= 1) { // not a number neither: no worker is left
			p = 1
		}
		pressure = max(pressure, p)
	}
	k := &m.knobs
	if k.Wait > 0 && l.Waiting > 0 {
		take(l.QueuedCost / (l.CostRate * k.Wait.Seconds()))
	}
	if k.Queue > 0 {
		take(float64(l.Waiting) / float64(k.Queue))
	}
	if k.InFlight > 0 {
		take(float64(l.Admitted) / float64(k.InFlight))
	}
	if k.Workers > 0 {
		take(float64(l.Running) / float64(l.Workers) / k.Workers)
	}
	return pressure
}

// lot reports whether a draw falls into share.
func (m *overloadManager) lot(share float64) bool {
	return share > 0 && (share >= 1 || m.rand.Float64() < share)
}

func (m *overloadManager) Admit(now time.Duration, r *Request, _ Load) Reason {
	switch {
	case r.Protected:
		return ""
	case m.stop == 1:
		return ReasonOverloadStop
	case m.lot(m.reject):
		return ReasonOverloadReject
	}
	if m.reduce > 0 && r.Deadline != Never {
		r.ExpireAt(now+m.timeout(r.Deadline-now), ReasonOverloadTimeout)
	}
	if m.lot(m.degrade) {
		r.Degraded = true
	}
	return ""
}

// timeout returns how long a request may wait that has so much time left: Envoy's
// scaled timer, never longer than that.
func (m *overloadManager) timeout(left time.Duration) time.Duration {
	least := float64(m.knobs.MinTimeout)
	if m.knobs.MinTimeoutScale > 0 {
		least = m.knobs.MinTimeoutScale * float64(left)
	}
	return min(left, time.Duration(least+(float64(left)-least)*(1-m.reduce)))
}

// Needs implements Knower.
func (m *overloadManager) Needs() string {
	if m.knobs.ReduceTimeouts != (overloadTrigger{}) {
		return "the deadline"
	}
	return ""
}

func (*overloadManager) Leave(time.Duration, *Request, End) {}
