package protection

import (
	"errors"
	"time"

	"knee/target/plugin"
)

// ReasonCost is why cost refuses: the request is dearer than the load allows.
const ReasonCost Reason = "cost"

func init() {
	Registry.Register(plugin.Info[New]{
		Name:  "cost",
		Doc:   "refuses the dearest first: the higher the load, the lower the cost that is let in",
		Worse: "when all requests cost the same, and when the dear ones are what matters: it starves them for as long as the load lasts",
		Knobs: func() any {
			return &costKnobs{Signal: signalWait, Setpoint: 100 * time.Millisecond, From: 0.5, Ordinary: 1}
		},
		New: newCost,
	})
}

type costKnobs struct {
	Signal   string        `yaml:"signal" doc:"what load is: wait (cost in the queue at the rate measured), age (of the oldest in the queue) or in_flight (requests inside)"`
	Setpoint time.Duration `yaml:"setpoint" doc:"wait or age that is load 1, a duration above 0"`
	InFlight int           `yaml:"in_flight" doc:"requests inside that are load 1, at least 1; 0 means what the workers and a queue of one setpoint hold as declared"`
	From     float64       `yaml:"from" doc:"load up to which every cost is let in, at least 0, below 1; from load 1 on none is"`
	Ordinary float64       `yaml:"ordinary" doc:"cost that is let in up to halfway between from and 1, above 0; dearer requests are refused earlier, cheaper ones later"`
}

// cost lets in what costs no more than a ceiling that falls from infinity at
// load = from to 0 at load = 1:
//
//	ceiling = ordinary · (1 - load) / (load - from)
//
// Solved for the load, a request of cost c is let in up to
//
//	(ordinary + c·from) / (ordinary + c)
//
// So nothing has to be known of the costs that there are. At the defaults, with a
// setpoint of 100 ms, a request of cost 10 is let in up to a wait of 54.5 ms, one of
// cost 1 up to 75 ms, one of a tenth up to 95.5 ms. The law is this tool's own.
// Protected requests are let in at any load.
type cost struct {
	signal   loadSignal
	from     float64
	ordinary float64
}

func newCost(s Setup, knobs any) (Protection, error) {
	k := knobs.(*costKnobs)
	signal, err := newLoadSignal(s, k.Signal, k.Setpoint, k.InFlight)
	errs := []error{err}
	if !(k.From >= 0 && k.From < 1) { // not a number fails too
		errs = append(errs, plugin.Knob("from", k.From, "a load of at least 0, below 1"))
	}
	if !(k.Ordinary > 0) {
		errs = append(errs, plugin.Knob("ordinary", k.Ordinary, "a cost above 0"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &cost{signal, k.From, k.Ordinary}, nil
}

// Needs implements Knower.
func (*cost) Needs() string { return "the cost" }

func (p *cost) Admit(now time.Duration, r *Request, l Load) Reason {
	load := p.signal.at(now, &l)
	if r.Protected || r.Cost*(load-p.from) <= p.ordinary*(1-load) {
		return ""
	}
	return ReasonCost
}

func (*cost) Leave(time.Duration, *Request, End) {}
