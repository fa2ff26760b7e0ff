package order

import (
	"errors"
	"time"

	"knee/target/plugin"
	"knee/target/protection"
)

func init() {
	Registry.Register(plugin.Info[New]{
		Name:  "adaptive_lifo",
		Doc:   "serves the request that waits longest while calm, and the one that came last while overloaded",
		Worse: "without deadlines or an age bound: what it passed over waits until the overload ends, and is then served late",
		Knobs: func() any { return &adaptiveLIFOKnobs{Sweep: true} },
		New:   newAdaptiveLIFO,
	})
}

type adaptiveLIFOKnobs struct {
	SinceEmpty time.Duration `yaml:"since_empty" doc:"overloaded while the queue has not been empty for longer than this; above 0; 0 means by another sign; 100ms when no sign is set"`
	Length     int           `yaml:"length" doc:"overloaded while more requests than this wait; at least 1; 0 means by another sign"`
	Occupancy  float64       `yaml:"occupancy" doc:"overloaded while more than this share of limit waits, such as 0.8; above 0, below 1; 0 means by another sign"`
	Limit      int           `yaml:"limit" doc:"requests of which occupancy is a share: what a bound lets wait; at least 1, and with occupancy only; an unattainable one never gives overload"`
	Sweep      bool          `yaml:"sweep" doc:"take out of the queue, at once, what can no longer be served in time; false leaves it there until its turn comes; default true"`
}

// sinceEmpty is how long a queue may stand before it counts as overloaded: N of
// Maurer, "Fail at Scale" (ACM Queue 13(8), 2015).
const sinceEmpty = 100 * time.Millisecond

// adaptiveLIFO is adaptive LIFO as Maurer describes it for Facebook. Its signs of
// overload are those of three implementations: the time since the queue was
// empty is Maurer's, the share of a limit is HBase's (hbase.ipc.server.callqueue.
// lifo.threshold), and the length is that of textbooks.
//
// It looks at the load of each dequeue, as HBase does. Maurer decides when a
// request is enqueued, and puts it in front: then those that came while the
// queue was calm are passed over as well, but what came under overload is still
// served backwards once that is over. Deciding late, the order is again that of
// arrival at the first calm dequeue.
//
// What is passed over has no end of its own. A deadline or an age bound of the
// queue, together with sweep, takes it out.
type adaptiveLIFO struct {
	list
	keeper
	sinceEmpty time.Duration // 0: another sign
	length     int           // 0: another sign
	occupancy  float64       // share of limit
	limit      float64
}

func newAdaptiveLIFO(_ Setup, knobs any) (Order, error) {
	k := knobs.(*adaptiveLIFOKnobs)
	var errs []error
	bad := func(knob string, is any, want string) { errs = append(errs, plugin.Knob(knob, is, want)) }
	signs := 0
	sign := func(knob string, is any, legal bool, want string) {
		switch signs++; {
		case !legal:
			bad(knob, is, want)
		case signs > 1:
			bad(knob, is, "one of since_empty, length, occupancy")
		}
	}
	shared := k.Occupancy > 0 && k.Occupancy < 1
	if k.SinceEmpty != 0 {
		sign("since_empty", k.SinceEmpty, k.SinceEmpty > 0, "a duration above 0")
	}
	if k.Length != 0 {
		sign("length", k.Length, k.Length > 0, "a number of requests, at least 1")
	}
	if k.Occupancy != 0 {
		sign("occupancy", k.Occupancy, shared, "a share above 0, below 1")
	}
	switch {
	case k.Limit < 0 || k.Limit == 0 && shared:
		bad("limit", k.Limit, "a number of requests, at least 1")
	case k.Limit > 0 && k.Occupancy == 0:
		bad("limit", k.Limit, "none without occupancy")
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	o := &adaptiveLIFO{keeper: keeper{k.Sweep}, sinceEmpty: k.SinceEmpty, length: k.Length, occupancy: k.Occupancy, limit: float64(k.Limit)}
	if signs == 0 {
		o.sinceEmpty = sinceEmpty
	}
	return o, nil
}

func (o *adaptiveLIFO) Push(_ time.Duration, r *protection.Request) { o.pushBack(r) }

func (o *adaptiveLIFO) Pop(now time.Duration, l protection.Load) *protection.Request {
	r := o.first
	if r == nil {
		return nil
	}
	if o.overloaded(now, &l) {
		r = o.last
	}
	o.Remove(r)
	return r
}

func (o *adaptiveLIFO) overloaded(now time.Duration, l *protection.Load) bool {
	switch {
	case o.length > 0:
		return l.Waiting > o.length
	case o.sinceEmpty > 0:
		return now-l.LastEmpty > o.sinceEmpty
	}
	return float64(l.Waiting)/o.limit > o.occupancy
}
