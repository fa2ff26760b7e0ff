package order

import (
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"knee/target/plugin"
	"knee/target/protection"
)

func init() {
	Registry.Register(plugin.Info[New]{
		Name:  "fair",
		Doc:   "keeps a queue for each tenant, class or client, and gives each its share of what is served",
		Worse: "with one tenant, or with many that each send a request now and then: it orders what need not be ordered; unbounded queues stay unbounded",
		Knobs: func() any {
			return &fairKnobs{By: byTenant, Scheduler: schedulerDRR, Quantum: 1, Unit: unitCost, PushOut: pushOutOldest, Sweep: true}
		},
		New: newFair,
	})
}

type fairKnobs struct {
	By        string             `yaml:"by" doc:"who has a queue: each tenant, class or client; default tenant"`
	Scheduler string             `yaml:"scheduler" doc:"drr, deficit round robin, which gives each queue its quantum in turn; or sfq, start-time fair queueing, which also lets a queue that comes back after a pause in at once; default drr"`
	Quantum   float64            `yaml:"quantum" doc:"cost that a queue of weight 1 may spend in its turn, of drr; 1e-6 to 1e9; more is coarser; default 1"`
	Weights   map[string]float64 `yaml:"weights,omitempty" doc:"shares by the name of the tenant or class, or the number of the client, such as {a: 3}; 1e-6 to 1e9; one that is not named has 1"`
	Unit      string             `yaml:"unit" doc:"what is shared: cost, as requests declare it, so that cheap ones are served more often; or requests, each counting as 1; default cost"`
	PushOut   string             `yaml:"push_out" doc:"which of the longest queue, for its weight, leaves a full queue for a request whose queue stays shorter: oldest, newest, or none of them; default oldest"`
	Sweep     bool               `yaml:"sweep" doc:"take out of the queue, at once, what can no longer be served in time; false leaves it there until its turn comes; default true"`
}

// Values of the knobs of fair.
const (
	byTenant = "tenant"
	byClass  = "class"
	byClient = "client"

	schedulerDRR = "drr"
	schedulerSFQ = "sfq"

	unitCost     = "cost"
	unitRequests = "requests"
)

// fair gives each of many flows, which are tenants, classes or clients, its
// share of what the server serves, whatever they ask for. Between them decides a
// scheduler; within a flow it is first come, first served. Where a bound on all
// requests would refuse the many for the sake of one, push_out takes from the
// longest flow instead (longest queue drop, Suter et al., INFOCOM 1998).
//
// The cost of a request is what it declares. An order is not told how long the
// work took in the end, so that a tenant who declares less than it uses gets more
// than its share; the API server of Kubernetes charges the difference at the end.
//
// A flow takes up memory while requests of it wait, and with sfq a little longer
// (see mostResting), so that any number of tenants may come and go. Nothing is
// allocated for a request, and for a flow only when more of them wait than ever
// before.
type fair struct {
	keeper
	by        string
	weights   map[flowKey]float64 // of those that have not 1
	count     bool                // each request counts as 1
	pushOut   string
	flows     flows
	scheduler scheduler
	longest   *ranking // flows by what waits, for their weight, the most first; nil without push_out
	n         int
}

// A scheduler shares out turns between the flows that wait.
type scheduler interface {
	// join takes in f, of which a first request waits since now.
	join(now time.Duration, f *flow)
	// next returns the flow whose first request is to be served; there is one.
	// alone says that it is the only request in the server.
	next(now time.Duration, alone bool) *flow
	// charge books what a request that f had first has cost, now that it has left
	// to be served. f may have become empty.
	charge(f *flow, cost float64)
	// lose is told that a request of f has left without being served, which stood
	// first or did not. f may have become empty.
	lose(f *flow, first bool)
	// rests reports whether f, which is empty, has to be remembered.
	rests(f *flow) bool
}

func newFair(s Setup, knobs any) (Order, error) {
	k := knobs.(*fairKnobs)
	var errs []error
	oneOf := func(knob, is string, allowed ...string) {
		if !slices.Contains(allowed, is) {
			errs = append(errs, plugin.Knob(knob, strconv.Quote(is), "one of "+strings.Join(allowed, ", ")))
		}
	}
	oneOf("by", k.By, byTenant, byClass, byClient)
	oneOf("scheduler", k.Scheduler, schedulerDRR, schedulerSFQ)
	oneOf("unit", k.Unit, unitCost, unitRequests)
	errs = append(errs, checkPushOut(k.PushOut))
	if !moderate(k.Quantum) {
		errs = append(errs, plugin.Knob("quantum", k.Quantum, "a cost from 1e-6 to 1e9"))
	}
	weights, err := k.weights(s)
	if err := errors.Join(append(errs, err)...); err != nil {
		return nil, err
	}
	o := &fair{keeper: keeper{k.Sweep}, by: k.By, weights: weights, count: k.Unit == unitRequests, pushOut: k.PushOut}
	if k.Scheduler == schedulerDRR {
		o.scheduler = &drr{quantum: k.Quantum, cost: o.first}
	} else {
		o.scheduler = newSFQ(&o.flows)
	}
	if k.PushOut != pushOutNone {
		o.longest = &ranking{place: placeOfLongest, before: func(a, b *flow) bool { return a.waiting/a.weight > b.waiting/b.weight }}
	}
	return o, nil
}

// moderate reports whether x is such that what is reckoned with it stays a number.
func moderate(x float64) bool { return x >= 1e-6 && x <= 1e9 }

// weights returns the weights by the key of a flow.
func (k *fairKnobs) weights(s Setup) (map[flowKey]float64, error) {
	weights := make(map[flowKey]float64, len(k.Weights))
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(k.Weights)) {
		knob, w := "weights."+name, k.Weights[name]
		if !moderate(w) {
			errs = append(errs, plugin.Knob(knob, w, "a weight from 1e-6 to 1e9"))
		}
		key := flowKey{name: name}
		switch k.By {
		case byClass:
			class := slices.Index(s.Classes, name)
			if class < 0 {
				errs = append(errs, plugin.Knob(knob, "of no class", "one of "+strings.Join(s.Classes, ", ")))
			}
			key = flowKey{number: uint64(class)}
		case byClient:
			client, err := strconv.ParseUint(name, 10, 32)
			if err != nil {
				errs = append(errs, plugin.Knob(knob, "of no client", "the number of a client"))
			}
			key = flowKey{number: client}
		}
		weights[key] = w
	}
	return weights, errors.Join(errs...)
}

// keyOf returns the key of the flow that r belongs to.
func (o *fair) keyOf(r *protection.Request) flowKey {
	switch o.by {
	case byClass:
		return flowKey{number: uint64(r.Class)}
	case byClient:
		return flowKey{number: uint64(r.Client)}
	}
	return flowKey{name: r.Tenant}
}

// mostCost is what a request counts as at most, so that sums stay numbers.
const mostCost = 1e12

// costOf returns what r counts as.
func (o *fair) costOf(r *protection.Request) float64 {
	switch {
	case o.count:
		return 1
	case r.Cost < mostCost:
		return max(r.Cost, 0)
	}
	return mostCost
}

// first returns what the first request of f, which has one, counts as.
func (o *fair) first(f *flow) float64 { return o.costOf(f.first) }

func (o *fair) Push(now time.Duration, r *protection.Request) {
	f := o.flow(o.keyOf(r))
	f.pushBack(r)
	f.waiting += o.costOf(r)
	o.n++
	if f.n == 1 {
		o.scheduler.join(now, f)
	}
	if o.longest != nil {
		o.longest.put(f)
	}
}

// flow returns the flow with the key given, which is new unless something of it
// waits or is remembered.
func (o *fair) flow(key flowKey) *flow {
	if f := o.flows.byKey[key]; f != nil {
		return f
	}
	return o.flows.add(key, o.weightOf(key))
}

func (o *fair) weightOf(key flowKey) float64 {
	if w, ok := o.weights[key]; ok {
		return w
	}
	return 1
}

func (o *fair) Pop(now time.Duration, l protection.Load) *protection.Request {
	if o.n == 0 {
		return nil
	}
	f := o.scheduler.next(now, o.n == 1 && l.Running == 0)
	r := f.first
	o.takeOut(f, r)
	o.scheduler.charge(f, o.costOf(r))
	o.tidy(f)
	return r
}

func (o *fair) Remove(r *protection.Request) {
	f := o.flows.byKey[o.keyOf(r)]
	first := f.first == r
	o.takeOut(f, r)
	o.scheduler.lose(f, first)
	o.tidy(f)
}

// takeOut takes r out of f's queue.
func (o *fair) takeOut(f *flow, r *protection.Request) {
	f.list.Remove(r)
	o.n--
	if f.waiting -= o.costOf(r); f.n == 0 {
		f.waiting = 0 // no rounding error outlives the queue
	}
}

// tidy follows up on a change of f's queue.
func (o *fair) tidy(f *flow) {
	if o.longest != nil {
		if f.n > 0 {
			o.longest.put(f)
		} else {
			o.longest.remove(f)
		}
	}
	if f.n == 0 && !o.scheduler.rests(f) {
		o.flows.forget(f)
	}
}

func (o *fair) Len() int { return o.n }

// Evict returns a request of the longest flow when that is longer than r's own
// would be with r. It spares what is protected.
func (o *fair) Evict(_ time.Duration, r *protection.Request) *protection.Request {
	if o.longest == nil || o.n == 0 {
		return nil
	}
	key := o.keyOf(r)
	longest := o.longest.flows[0]
	own, weight := o.costOf(r), o.weightOf(key)
	if f := o.flows.byKey[key]; f != nil {
		own += f.waiting
	}
	if longest.waiting/longest.weight <= own/weight {
		return nil
	}
	victim := longest.first
	if o.pushOut == pushOutNewest {
		victim = longest.last
	}
	for victim != nil && victim.Protected {
		if o.pushOut == pushOutNewest {
			victim = victim.Links.Prev
		} else {
			victim = victim.Links.Next
		}
	}
	return victim
}
