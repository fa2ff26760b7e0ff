package protection

import (
	"errors"
	"time"

	"knee/target/plugin"
)

func init() {
	Registry.Register(plugin.Info[New]{
		Name:  "queue_bound",
		Doc:   "bounds the queue by count, expected wait, age or cost; several may be set, at least one must",
		Knobs: func() any { return new(queueBoundKnobs) },
		New:   newQueueBound,
	})
}

type queueBoundKnobs struct {
	Count int           `yaml:"count" doc:"requests that may wait, not counting those in service; at least 1; 0 means no such bound"`
	Wait  time.Duration `yaml:"wait" doc:"refuse when the cost in the queue, at the rate measured, takes longer than this duration; 0 means no such bound"`
	Age   time.Duration `yaml:"age" doc:"drop from the queue what has waited this duration; 0 means no such bound"`
	Cost  float64       `yaml:"cost" doc:"cost that may wait in all (a request in an empty queue always may); above 0; 0 means no such bound"`
}

// queueBound refuses what would make the queue too long. Requests in service do
// not count.
type queueBound struct {
	count int           // 0: no bound
	wait  float64       // seconds; 0: no bound
	age   time.Duration // 0: no bound
	cost  float64       // 0: no bound
}

func newQueueBound(_ Setup, knobs any) (Protection, error) {
	k := knobs.(*queueBoundKnobs)
	var errs []error
	if k.Count < 0 {
		errs = append(errs, plugin.Knob("count", k.Count, "a number of requests, at least 1"))
	}
	if k.Wait < 0 {
		errs = append(errs, plugin.Knob("wait", k.Wait, "a duration above 0"))
	}
	if k.Age < 0 {
		errs = append(errs, plugin.Knob("age", k.Age, "a duration above 0"))
	}
	if !(k.Cost >= 0) { // not a number fails too
		errs = append(errs, plugin.Knob("cost", k.Cost, "a cost above 0"))
	}
	if *k == (queueBoundKnobs{}) {
		errs = append(errs, plugin.Knob("count", "not set", "at least one of count, wait, age, cost"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &queueBound{count: k.Count, wait: k.Wait.Seconds(), age: k.Age, cost: k.Cost}, nil
}

func (b *queueBound) Bounds() {}

func (b *queueBound) Admit(now time.Duration, r *Request, l Load) Reason {
	if b.count > 0 && l.Waiting >= b.count {
		return ReasonQueueFull
	}
	if b.cost > 0 && l.Waiting > 0 && l.QueuedCost+r.Cost > b.cost {
		return ReasonQueueCost
	}
	if b.wait > 0 && l.QueuedCost > l.CostRate*b.wait {
		return ReasonQueueWait
	}
	if b.age > 0 {
		r.ExpireAt(now+b.age, ReasonQueueAge)
	}
	return ""
}

func (b *queueBound) Leave(time.Duration, *Request, End) {}
