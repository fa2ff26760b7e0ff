package protection

import (
	"errors"
	"math"
	"time"

	"knee/target/plugin"
)

func init() {
	Registry.Register(plugin.Info[New]{
		Name:  "bbr",
		Doc:   "while the workers are busy, limits the requests inside to the best throughput of late times the shortest time they took (as in aegis, go-zero and Sentinel)",
		Worse: "when the load jumps: the pressure is an average over ten seconds, and until it is past the threshold all are let in; and whenever little was served of late, since it lets in what it has seen and no more",
		Knobs: func() any {
			return &bbrKnobs{
				Window: 10 * time.Second, Buckets: 100,
				Threshold: 0.8, Decay: 0.95, Every: 500 * time.Millisecond, CoolOff: time.Second, MinLimit: 1,
			}
		},
		New: newBBR,
	})
}

type bbrKnobs struct {
	Window    time.Duration `yaml:"window" doc:"how far back to look for the best throughput and the shortest time; at least 1ms for each of the buckets"`
	Buckets   int           `yaml:"buckets" doc:"parts of the window, from 2 to 10000"`
	Threshold float64       `yaml:"threshold" doc:"pressure from which the limit is in force, from 0 to 1; at 0 it always is, and a server that was idle starts from min_limit"`
	Decay     float64       `yaml:"decay" doc:"weight of the pressure so far beside that of the latest look; from 0, below 1"`
	Every     time.Duration `yaml:"every" doc:"time between two looks at the workers, at least 1ms"`
	CoolOff   time.Duration `yaml:"cool_off" doc:"time for which the limit stays in force after the last refusal under pressure, a duration of at least 0"`
	MinLimit  int           `yaml:"min_limit" doc:"lowest limit, at least 1; the originals have 1, at which a server that starts with a burst may stay; the number of workers is a good choice"`
	MaxNoLoad time.Duration `yaml:"max_no_load" doc:"longest time that is believed to be the shortest without load, so that a long queue does not justify itself; above 0; 0 means twice the declared mean service time"`
}

// ReasonBBR is why bbr refuses.
const ReasonBBR Reason = "bbr"

// bbr is the limiter that go-kratos' aegis, go-zero and Alibaba's Sentinel name
// after TCP BBR. Over the full buckets of a window,
//
//	limit = floor(maxPass · minRT · buckets per second + 0.5)
//
// where maxPass is the most that one bucket served and minRT the lowest mean time
// of one: what is inside when the server is at its best. A request is refused when
// the pressure is at the threshold or was when the last one was refused, no longer
// than cool_off ago, and more than one and more than the limit are inside. So one
// more than the limit can be inside. Without data the limit is min_limit. Protected
// requests are let in.
//
// It differs from the originals in this. Their pressure is the CPU time of the
// process or the machine, which says nothing of a server whose workers wait and
// cannot be had in virtual time; here it is the share of the workers that are
// busy, seen and averaged as aegis does the CPU: 0.95 of it and 0.05 of what is
// new, twice a second. So it takes 16s for a server that was idle to come to 0.8.
// Only what was served counts, where aegis counts what failed as well. Times are
// not rounded up to milliseconds. aegis counts the cool-off from the first refusal
// of a series, here it is the last. And they believe any minRT: after a window of
// nothing but a long queue, that queue is what they allow; see max_no_load.
type bbr struct {
	knobs  bbrKnobs
	most   float64 // of minRT, in nanoseconds
	bucket time.Duration

	ring     []bbrBucket
	current  int64 // number of the bucket that is not full yet, since the start of the run
	limit    int
	pressure float64
	refusing bool
	refused  time.Duration // the last time under pressure, while refusing
	last     time.Duration
}

// A bbrBucket is what was served in a part of the window.
type bbrBucket struct {
	pass int
	took float64 // nanoseconds: sum of the times that they were inside
}

func newBBR(s Setup, knobs any) (Protection, error) {
	k := knobs.(*bbrKnobs)
	var errs []error
	bad := func(knob string, is any, want string) { errs = append(errs, plugin.Knob(knob, is, want)) }
	if k.Buckets < 2 || k.Buckets > 10_000 {
		bad("buckets", k.Buckets, "a number from 2 to 10000")
	} else if k.Window < time.Duration(k.Buckets)*time.Millisecond {
		bad("window", k.Window, "a duration of at least 1ms for each of the buckets")
	}
	if !(k.Threshold >= 0 && k.Threshold <= 1) { // not a number fails too
		bad("threshold", k.Threshold, "a pressure from 0 to 1")
	}
	if !(k.Decay >= 0 && k.Decay < 1) {
		bad("decay", k.Decay, "a weight from 0, below 1")
	}
	if k.Every < time.Millisecond {
		bad("every", k.Every, "a duration of at least 1ms")
	}
	if k.CoolOff < 0 {
		bad("cool_off", k.CoolOff, "a duration of at least 0")
	}
	if k.MinLimit < 1 {
		bad("min_limit", k.MinLimit, "a number of requests, at least 1")
	}
	if k.MaxNoLoad < 0 {
		bad("max_no_load", k.MaxNoLoad, "a duration above 0, or 0 for twice the service time")
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &bbr{
		knobs: *k, most: believable(k.MaxNoLoad, s), bucket: k.Window / time.Duration(k.Buckets),
		ring: make([]bbrBucket, k.Buckets), limit: k.MinLimit,
	}, nil
}

func (b *bbr) Admit(now time.Duration, r *Request, l Load) Reason {
	b.advance(now)
	if r.Protected {
		return ""
	}
	pressed := b.pressure >= b.knobs.Threshold
	if !pressed && !(b.refusing && b.last-b.refused <= b.knobs.CoolOff) {
		b.refusing = false
		return ""
	}
	if l.Admitted <= b.limit { // which is at least 1
		return ""
	}
	if pressed {
		b.refusing, b.refused = true, b.last
	}
	return ReasonBBR
}

func (b *bbr) Leave(now time.Duration, _ *Request, e End) {
	b.advance(now)
	if e.Outcome != Served {
		return
	}
	at := &b.ring[b.current%int64(len(b.ring))]
	at.pass++
	at.took += float64(e.Waited) + float64(e.Served)
}

// Tick implements Ticker.
func (b *bbr) Tick(now time.Duration, l Load) time.Duration {
	b.advance(now)
	busy := 1.0 // of no workers
	if l.Running < l.Workers {
		busy = float64(l.Running) / float64(l.Workers)
	}
	b.pressure = b.knobs.Decay*b.pressure + (1-b.knobs.Decay)*busy
	return b.last + b.knobs.Every
}

// advance goes to the bucket of now, and at the end of one sets the limit.
func (b *bbr) advance(now time.Duration) {
	b.last = max(b.last, now)
	bucket := int64(b.last / b.bucket)
	if bucket == b.current {
		return
	}
	for n := min(bucket-b.current, int64(len(b.ring))); n > 0; n-- {
		b.ring[(bucket-n+1)%int64(len(b.ring))] = bbrBucket{}
	}
	b.current = bucket
	b.limit = max(b.best(), b.knobs.MinLimit)
}

// best returns the limit by the full buckets; 0 without data. The bucket of now is
// empty.
func (b *bbr) best() int {
	const most = 1e9
	maxPass, minRT := 0, b.most
	for i := range b.ring {
		if at := &b.ring[i]; at.pass > 0 {
			maxPass = max(maxPass, at.pass)
			minRT = min(minRT, at.took/float64(at.pass))
		}
	}
	return int(min(most, math.Floor(float64(maxPass)*minRT/float64(b.bucket)+0.5)))
}

// Limit implements Limiter. It is what the limit is when it is in force.
func (b *bbr) Limit() int { return b.limit }
