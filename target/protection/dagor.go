package protection

import (
	"errors"
	"strconv"
	"time"

	"knee/target/plugin"
)

// ReasonDagor is why dagor refuses: the level of the request is beyond the cursor.
const ReasonDagor Reason = "dagor"

func init() {
	Registry.Register(plugin.Info[New]{
		Name:  "dagor",
		Doc:   "refuses the least important of many levels, criticality times a hash of the client, by a cursor that moves with the queueing delay (WeChat's DAGOR)",
		Worse: "alone, when the load jumps: it sheds a twentieth more each window, 45 windows from ten times capacity, and lets in a hundredth more afterwards, so it needs a bound behind it and is slow to recover; and with few clients, whose levels are too coarse for its steps",
		Knobs: func() any {
			return &dagorKnobs{
				Threshold: 20 * time.Millisecond, Window: time.Second, Requests: 2000,
				Alpha: 0.05, Beta: 0.01, Users: 128, Rehash: time.Hour, Variant: dagorPaper,
			}
		},
		New: newDagor,
	})
}

// The variants of dagor.
const (
	dagorPaper   = "paper"
	dagorCaladan = "caladan"
)

type dagorKnobs struct {
	Threshold time.Duration `yaml:"threshold" doc:"average queueing delay of a window above which the server is overloaded, a duration above 0"`
	Window    time.Duration `yaml:"window" doc:"longest time between two moves of the cursor, at least 1ms"`
	Requests  int           `yaml:"requests" doc:"arrivals after which the cursor moves earlier than that, at least 1"`
	Alpha     float64       `yaml:"alpha" doc:"share of what was let in to shed after a window of overload, above 0, below 1"`
	Beta      float64       `yaml:"beta" doc:"share of what arrived (caladan: of the levels) to let in beside after a window without, above 0, below 1"`
	Users     int           `yaml:"users" doc:"levels that clients are hashed to within each criticality, from 1 to 65536"`
	Rehash    time.Duration `yaml:"rehash" doc:"time after which clients get other levels, at least 1s; 0 means never"`
	Variant   string        `yaml:"variant" doc:"paper (steps are counted in requests, by a histogram of the levels) or caladan (steps are shares of the levels)"`
}

// dagor is the overload control of Zhou et al., "Overload Control for Scaling
// WeChat Microservices" (SoCC 2018). A level is the criticality of a request, for
// the paper's business priority, and within that a hash of the client; level 0 is
// the most important. Levels up to the cursor are let in. At the end of a window,
// with N arrivals of which A were let in, what is to be let in is
//
//	A · (1 - alpha)    when the average queueing delay was above the threshold
//	A + beta · N       otherwise
//
// and the cursor goes to the last level up to which no more than that arrived.
//
// It differs from the paper in this: what a step upwards could not use, because
// the next level is larger, counts to the next step (as it stands the paper's cursor stays
// where a level is larger than beta). And the cursor is not told to callers for
// them to shed by: the callers here would not know what to do with it.
//
// In the variant of the caladan repository, where windows are of a millisecond,
// the cursor itself is multiplied by 1 - alpha, or moved up by beta of all levels.
//
// The delay is that of requests as they leave the queue, or that of the oldest in
// the queue if that is longer, which it is with orders that serve others first.
// Protected requests have no level and are always let in.
type dagor struct {
	threshold, window, rehash time.Duration
	requests                  int
	alpha, beta               float64
	users                     uint32
	counted                   bool // the paper's steps

	cursor  int     // last level that is let in; -1: none is
	share   float64 // caladan: levels that are let in
	unused  float64 // share of the arrivals that the last step upwards could not use
	arrived []int   // in this window, by level
	all, in int     // of this window
	delay   time.Duration
	left    int // requests that left the queue in this window; delay is the sum of theirs
	opened  time.Duration
	last    time.Duration
}

func newDagor(_ Setup, knobs any) (Protection, error) {
	k := knobs.(*dagorKnobs)
	var errs []error
	bad := func(knob string, is any, want string) { errs = append(errs, plugin.Knob(knob, is, want)) }
	if k.Threshold <= 0 {
		bad("threshold", k.Threshold, "a duration above 0")
	}
	if k.Window < time.Millisecond {
		bad("window", k.Window, "a duration of at least 1ms")
	}
	if k.Requests < 1 {
		bad("requests", k.Requests, "a number of requests, at least 1")
	}
	if !(k.Alpha > 0 && k.Alpha < 1) { // not a number fails too
		bad("alpha", k.Alpha, "a share above 0, below 1")
	}
	if !(k.Beta > 0 && k.Beta < 1) {
		bad("beta", k.Beta, "a share above 0, below 1")
	}
	if k.Users < 1 || k.Users > 1<<16 {
		bad("users", k.Users, "a number from 1 to 65536")
	}
	if k.Rehash != 0 && k.Rehash < time.Second {
		bad("rehash", k.Rehash, "a duration of at least 1s, or 0")
	}
	if k.Variant != dagorPaper && k.Variant != dagorCaladan {
		bad("variant", strconv.Quote(k.Variant), "paper or caladan")
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	levels := (int(CriticalPlus) + 1) * k.Users
	return &dagor{
		threshold: k.Threshold, window: k.Window, rehash: k.Rehash, requests: k.Requests,
		alpha: k.Alpha, beta: k.Beta, users: uint32(k.Users), counted: k.Variant == dagorPaper,
		cursor: levels - 1, share: float64(levels), arrived: make([]int, levels),
	}, nil
}

// Needs implements Knower.
func (*dagor) Needs() string { return "the criticality and the client" }

func (d *dagor) Admit(now time.Duration, r *Request, l Load) Reason {
	d.last = max(d.last, now)
	if r.Protected {
		return ""
	}
	level := d.level(r)
	d.arrived[level]++
	d.all++
	let := level <= d.cursor
	if let {
		d.in++
	}
	if d.all >= d.requests {
		d.close(&l)
	}
	if !let {
		return ReasonDagor
	}
	return ""
}

// level returns the level of r, 0 for the most important.
func (d *dagor) level(r *Request) int {
	h := uint64(r.Client)
	if d.rehash > 0 {
		h |= uint64(d.last/d.rehash) << 32
	}
	h = (h ^ h>>33) * 0xff51afd7ed558ccd // the finalizer of MurmurHash3
	h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
	h ^= h >> 33
	return int(CriticalPlus-min(r.Criticality, CriticalPlus))*int(d.users) + int(h%uint64(d.users))
}

// Pick implements Picker.
func (d *dagor) Pick(now time.Duration, r *Request, l Load) Reason {
	d.last = max(d.last, now)
	d.delay += min(standing(d.last, r, &l), time.Hour) // the sum of all of a window is no overflow
	d.left++
	return ""
}

func (*dagor) Leave(time.Duration, *Request, End) {}

// Tick implements Ticker.
func (d *dagor) Tick(now time.Duration, l Load) time.Duration {
	d.last = max(d.last, now)
	if d.last-d.opened >= d.window {
		d.close(&l)
	}
	return d.opened + d.window
}

// close ends the window and moves the cursor.
func (d *dagor) close(l *Load) {
	delay := time.Duration(0)
	switch {
	case d.left > 0:
		delay = d.delay / time.Duration(d.left)
	case l.Waiting > 0:
		delay = d.last - l.Oldest
	}
	if d.counted {
		d.step(delay > d.threshold)
	} else {
		d.scale(delay > d.threshold)
	}
	clear(d.arrived)
	d.all, d.in, d.delay, d.left, d.opened = 0, 0, 0, 0, d.last
}

// step moves the cursor by the paper's law.
func (d *dagor) step(overloaded bool) {
	want := float64(d.in)
	if overloaded {
		want *= 1 - d.alpha
	} else {
		want += (d.beta + d.unused) * float64(d.all)
	}
	sum := 0
	d.cursor = -1
	for level, n := range d.arrived {
		if float64(sum+n) > want {
			break
		}
		sum += n
		d.cursor = level
	}
	d.unused = 0
	if !overloaded && d.cursor < len(d.arrived)-1 {
		d.unused = (want - float64(sum)) / float64(d.all)
	}
}

// scale moves the cursor by caladan's law.
func (d *dagor) scale(overloaded bool) {
	if overloaded {
		d.share *= 1 - d.alpha
	} else {
		d.share = min(d.share+d.beta*float64(len(d.arrived)), float64(len(d.arrived)))
	}
	d.cursor = int(d.share) - 1
}
