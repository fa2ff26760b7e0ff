package order

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"knee/target/plugin"
	"knee/target/protection"
)

func init() {
	Registry.Register(plugin.Info[New]{
		Name:  "priority",
		Doc:   "serves the most critical first, and what is alike in the order of arrival; makes room for it in a bounded queue",
		Worse: "when most of the load is critical: the rest is starved, and the critical part waits as it would in one queue",
		Knobs: func() any { return &priorityKnobs{PushOut: pushOutOldest, Sweep: true} },
		New:   newPriority,
	})
}

type priorityKnobs struct {
	PushOut string  `yaml:"push_out" doc:"which of the least critical leaves a full queue for one that is more critical: oldest, newest, or none of them; default oldest"`
	Reserve float64 `yaml:"reserve" doc:"share of the picks that goes to the longest wait among the less critical while more critical ones wait; 0 up to, not including, 1; default 0, strict priority"`
	Sweep   bool    `yaml:"sweep" doc:"take out of the queue, at once, what can no longer be served in time; false leaves it there until its turn comes; default true"`
}

// Values of the knob push_out.
const (
	pushOutOldest = "oldest"
	pushOutNewest = "newest"
	pushOutNone   = "none"
)

// checkPushOut returns what is wrong with a value of push_out.
func checkPushOut(s string) error {
	if !slices.Contains([]string{pushOutOldest, pushOutNewest, pushOutNone}, s) {
		return plugin.Knob("push_out", strconv.Quote(s), "oldest, newest or none")
	}
	return nil
}

// levels is the number of different criticalities.
const levels = int(protection.CriticalPlus) + 1

// priority is a queue for each of the four criticalities of the SRE book
// ("Handling Overload"). A protected request counts as critical_plus.
//
// Strict priority starves: while the critical load alone fills the server, no
// other request is served. With a reserve, of n picks that had a choice at
// least ⌊n · reserve⌋ went to a lower level, to the one of its requests that
// arrived first, so that none waits for ever.
type priority struct {
	keeper
	levels  [levels]list
	n       int
	pushOut string

	reserve         float64
	choices, passed float64 // picks for which a lower level waited too, and those of them that went to one
}

func newPriority(_ Setup, knobs any) (Order, error) {
	k := knobs.(*priorityKnobs)
	errs := []error{checkPushOut(k.PushOut)}
	if !(k.Reserve >= 0 && k.Reserve < 1) { // not a number fails too
		errs = append(errs, plugin.Knob("reserve", k.Reserve, "a share from 0 up to, not including, 1"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &priority{keeper: keeper{k.Sweep}, pushOut: k.PushOut, reserve: k.Reserve}, nil
}

// levelOf returns the level of r, which stays the same while it waits.
func levelOf(r *protection.Request) int {
	if r.Protected {
		return levels - 1
	}
	return min(int(r.Criticality), levels-1)
}

func (o *priority) Push(_ time.Duration, r *protection.Request) {
	o.levels[levelOf(r)].pushBack(r)
	o.n++
}

func (o *priority) Pop(time.Duration, protection.Load) *protection.Request {
	top := levels - 1
	for top > 0 && o.levels[top].n == 0 {
		top--
	}
	r := o.levels[top].first
	if r == nil {
		return nil
	}
	if o.reserve > 0 {
		if lower := o.longestBelow(top); lower != nil && o.turnOfLower() {
			r = lower
		}
	}
	o.Remove(r)
	return r
}

// longestBelow returns the request below a level that arrived first, nil when none waits.
func (o *priority) longestBelow(top int) *protection.Request {
	var first *protection.Request
	for level := top - 1; level >= 0; level-- {
		if r := o.levels[level].first; r != nil && (first == nil || r.Arrived < first.Arrived) {
			first = r
		}
	}
	return first
}

// turnOfLower counts one more choice and reports whether it goes to a lower level.
func (o *priority) turnOfLower() bool {
	o.choices++
	if o.choices*o.reserve < o.passed+1 {
		return false
	}
	o.passed++
	return true
}

func (o *priority) Remove(r *protection.Request) {
	o.levels[levelOf(r)].Remove(r)
	o.n--
}

func (o *priority) Len() int { return o.n }

// Evict returns a request of the lowest level that waits, when that is below r's.
func (o *priority) Evict(_ time.Duration, r *protection.Request) *protection.Request {
	if o.pushOut == pushOutNone {
		return nil
	}
	for level := range levelOf(r) {
		if l := &o.levels[level]; l.n > 0 {
			if o.pushOut == pushOutNewest {
				return l.last
			}
			return l.first
		}
	}
	return nil
}
