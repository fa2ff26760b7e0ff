package protection

import (
	"errors"
	"math/rand/v2"
	"time"

	"knee/target/plugin"
)

func init() {
	Registry.Register(plugin.Info[New]{
		Name:  "pid",
		Doc:   "refuses at random a share that a controller sets so that the wait ahead stays at a setpoint",
		Worse: "when the load jumps: until the share has settled it refuses too few or too many, and gains that suit one load are slow or shaky at another",
		Knobs: func() any {
			return &pidKnobs{Setpoint: 50 * time.Millisecond, Kp: 0.5, Ki: 1.25, Period: 10 * time.Millisecond}
		},
		New: newPID,
	})
}

type pidKnobs struct {
	Setpoint time.Duration `yaml:"setpoint" doc:"wait to hold: the cost in the queue at the rate measured, a duration above 0"`
	Kp       float64       `yaml:"kp" doc:"share to refuse for each setpoint that the wait is too long, from 0 to 1000"`
	Ki       float64       `yaml:"ki" doc:"share to add each second for each setpoint that the wait is too long, from 0 to 1000; 0 with kp and kd leaves the wait above the setpoint"`
	Kd       float64       `yaml:"kd" doc:"share to refuse for each setpoint per second by which the wait grows, from 0 to 1000"`
	Period   time.Duration `yaml:"period" doc:"time between two looks at the wait, at least 1ms"`
}

// pid is the textbook controller, not that of a product. At each look,
//
//	e = wait/setpoint - 1
//	share = kp·e + ki·∫e dt + kd·de/dt, from 0 to 1
//
// where the wait is what is in the queue at the rate measured: that is known as
// the queue grows, while an age is known only once it has been waited for.
//
// It does not wind up: the integral keeps to what a share can be, from 0 to 1,
// and grows no further while the share is 1. Below the setpoint it falls, so a
// spell of overload is forgotten within 1/ki seconds of an empty queue.
//
// The wait reacts to the share in proportion to the load, so gains that are
// calm at 10 times capacity are slow at 1.2 times. The defaults settle within a
// second from 1.2 to 10 times, with a period of a fifth of the setpoint.
type pid struct {
	setpoint   float64 // seconds
	kp, ki, kd float64
	period     time.Duration
	rand       *rand.Rand

	begun    bool
	last     time.Duration // of the last look
	e        float64       // at the last look
	integral float64
	share    float64
}

func newPID(s Setup, knobs any) (Protection, error) {
	k := knobs.(*pidKnobs)
	var errs []error
	if k.Setpoint <= 0 {
		errs = append(errs, plugin.Knob("setpoint", k.Setpoint, "a duration above 0"))
	}
	for _, gain := range []struct {
		knob string
		is   float64
	}{{"kp", k.Kp}, {"ki", k.Ki}, {"kd", k.Kd}} {
		if !(gain.is >= 0 && gain.is <= 1000) { // not a number fails too
			errs = append(errs, plugin.Knob(gain.knob, gain.is, "a gain from 0 to 1000"))
		}
	}
	if k.Kp == 0 && k.Ki == 0 && k.Kd == 0 {
		errs = append(errs, plugin.Knob("kp", k.Kp, "one of kp, ki, kd above 0"))
	}
	if k.Period < time.Millisecond {
		errs = append(errs, plugin.Knob("period", k.Period, "a duration of at least 1ms"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &pid{setpoint: k.Setpoint.Seconds(), kp: k.Kp, ki: k.Ki, kd: k.Kd, period: k.Period, rand: s.Rand}, nil
}

func (p *pid) Admit(_ time.Duration, r *Request, _ Load) Reason {
	if p.share > 0 && !r.Protected && p.rand.Float64() < p.share {
		return ReasonPID
	}
	return ""
}

func (*pid) Leave(time.Duration, *Request, End) {}

func (p *pid) Tick(now time.Duration, l Load) time.Duration {
	e := p.miss(l)
	if p.begun && now > p.last {
		dt := (now - p.last).Seconds()
		if p.share < 1 || e < 0 {
			p.integral = min(max(0, p.integral+p.ki*e*dt), 1)
		}
		p.share = min(max(0, p.kp*e+p.integral+p.kd*(e-p.e)/dt), 1)
	}
	p.begun, p.last, p.e = true, max(p.last, now), e
	return p.last + p.period
}

// miss returns by how many setpoints the wait is too long, at most 1000.
func (p *pid) miss(l Load) float64 {
	const most = 1000
	if l.Waiting == 0 {
		return -1
	}
	if e := l.QueuedCost/l.CostRate/p.setpoint - 1; e < most {
		return e
	}
	return most // no worker is left, or it is not a number
}
