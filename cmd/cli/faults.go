package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"knee/analysis"
	"knee/ci/verdict"
	"knee/generator/plan"
	"knee/generator/record"
	"knee/generator/virtual"
	"knee/profiles"
	"knee/target/fault"
	"knee/target/fleet"
	"knee/target/serve"
)

// A faulty server takes the faults of its profile, by their numbers in it.
type faulty interface {
	// inject puts fault i into the server, which takes it out again by itself
	// after lease if it is not lifted before.
	inject(i int, lease time.Duration) error
	// lift takes fault i out, if it is there.
	lift(i int) error
}

// injections puts the faults of a profile into a server, each at its instant,
// and sees to it that none is left there. Its cues may run on another goroutine
// than the rest.
type injections struct {
	profile *profiles.Profile
	server  faulty
	note    func(record.Event) // keeps what happened; nil: nobody does

	mu       sync.Mutex
	windows  []analysis.Fault
	there    map[int]int // the faults that may be in the server, and their windows; -1 where it is not known that one is
	warnings []string
}

func newInjections(p *profiles.Profile, s faulty, note func(record.Event)) *injections {
	return &injections{profile: p, server: s, note: note, there: map[int]int{}}
}

// leaseSlack is how much longer than the load a fault without an end of its own
// may be in the server before that takes it out by itself.
const leaseSlack = time.Minute

// cues returns when the faults come and go in a load that lasts so long. Those
// that last to its end are left for liftAll.
func (j *injections) cues(load time.Duration) []plan.Cue {
	var cues []plan.Cue
	for i, f := range j.profile.Faults {
		at, lease := time.Duration(f.At), time.Duration(f.For)
		if lease == 0 {
			lease = load - at + leaseSlack
		}
		cues = append(cues, plan.Cue{At: at, Do: func(now time.Duration) { j.inject(i, now, lease) }})
		if f.For > 0 {
			cues = append(cues, plan.Cue{At: at + lease, Do: func(now time.Duration) { j.lift(i, now) }})
		}
	}
	return cues
}

// name is what people call fault i.
func (j *injections) name(i int) string {
	return fmt.Sprintf("fault %d (%s)", i, j.profile.Faults[i].Kind)
}

// inject begins fault i. One that cannot be put into the server is a warning:
// the run goes on without it.
func (j *injections) inject(i int, now, lease time.Duration) {
	err := j.server.inject(i, lease)
	j.mu.Lock()
	defer j.mu.Unlock()
	if err != nil {
		j.there[i] = -1 // the answer may have been lost, and not the fault
		j.warnings = append(j.warnings, fmt.Sprintf("%s could not be injected: %v", j.name(i), err))
		j.event(i, now, "not injected")
		return
	}
	j.there[i] = len(j.windows)
	j.windows = append(j.windows, analysis.Fault{Kind: j.profile.Faults[i].Kind, Start: now})
	j.event(i, now, faultBegins)
}

// lift ends fault i. One that cannot be taken out stays there for liftAll to try
// again.
func (j *injections) lift(i int, now time.Duration) error {
	err := j.server.lift(i)
	j.mu.Lock()
	defer j.mu.Unlock()
	if err != nil {
		j.event(i, now, "not lifted")
		return fmt.Errorf("%s could not be lifted: %w", j.name(i), err)
	}
	if w, there := j.there[i]; there && w >= 0 {
		j.windows[w].End = now
		j.event(i, now, faultEnds)
	}
	delete(j.there, i)
	return nil
}

// liftAll takes out all that is in the server, in the order of the profile. No
// cue may run meanwhile.
func (j *injections) liftAll(now time.Duration) error {
	var errs []error
	for i := range j.profile.Faults {
		if _, there := j.there[i]; there {
			errs = append(errs, j.lift(i, now))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fail(verdict.CodeNotReverted, "%w", err)
	}
	return nil
}

// What the event of a fault says in its field "what", and the kind of the event.
const (
	faultEvent  = "fault"
	faultBegins = "begins"
	faultEnds   = "ends"
)

func (j *injections) event(i int, now time.Duration, what string) {
	if j.note == nil {
		return
	}
	j.note(record.Event{
		At: now, Kind: faultEvent, Text: j.name(i) + " " + what,
		Fields: map[string]string{"fault": strconv.Itoa(i), "kind": j.profile.Faults[i].Kind, "what": what},
	})
}

// keptFaults returns the windows of the faults of a run that was killed.
func keptFaults(events []record.Event) []analysis.Fault {
	var windows []analysis.Fault
	open := map[string]int{}
	for _, e := range events {
		if e.Kind != faultEvent {
			continue
		}
		switch i := e.Fields["fault"]; e.Fields["what"] {
		case faultBegins:
			open[i] = len(windows)
			windows = append(windows, analysis.Fault{Kind: e.Fields["kind"], Start: e.At})
		case faultEnds:
			if w, began := open[i]; began {
				windows[w].End = e.At
			}
		}
	}
	return windows
}

// inject has the faults of the profile come and go during the next plan, the
// first of loads that last so long together.
func (s *session) inject(load time.Duration) {
	if s.faults != nil {
		s.driver.Schedule(s.faults.cues(load))
	}
}

// revert takes out the faults that are in the server, however the run ended, and
// keeps what is known of them.
func (s *session) revert() error {
	j := s.faults
	if j == nil {
		return nil
	}
	err := j.liftAll(s.driver.Now())
	s.meta.Faults = j.windows
	s.meta.Warnings = append(s.meta.Warnings, j.warnings...)
	if err != nil {
		s.meta.Warnings = append(s.meta.Warnings, err.Error())
	}
	return err
}

// event keeps what happened beside the requests.
func (s *session) event(e record.Event) {
	if s.folder != nil {
		s.folder.Event(e)
	}
}

// leaveOut warns that verb does not put the faults of the profile into the
// server, and is not stopped by its guards.
func (s *session) leaveOut() {
	if n := len(s.profile.Guards); n > 0 {
		s.meta.Warnings = append(s.meta.Warnings, fmt.Sprintf(
			"the profile's guards were left out (%d): knee %s goes on when little gets done, to see how little", n, s.verb))
	}
	if n := len(s.profile.Faults); n > 0 {
		s.meta.Warnings = append(s.meta.Warnings, fmt.Sprintf(
			"the profile's faults were left out (%d): their instants are those of its own load, which knee run offers, and not knee %s", n, s.verb))
	}
}

// childFaults puts faults into the built-in server through its control endpoint.
// What it waits for is bounded by childControl.
type childFaults struct{ child *child }

func (f childFaults) inject(i int, lease time.Duration) error {
	return f.child.Change(context.Background(), serve.Change{
		Inject: []serve.Injection{{Fault: i, ForMs: lease.Seconds() * 1000}},
	})
}

func (f childFaults) lift(i int) error {
	err := f.child.Change(context.Background(), serve.Change{Lift: []int{i}})
	if err != nil && f.child.Gone() {
		return nil // and the fault with it
	}
	return err
}

// virtualFaults puts faults into the servers of a virtual run, which have no
// lease: nothing can happen to whoever lifts them.
type virtualFaults struct {
	profile *profiles.Profile
	driver  *virtual.Driver
	fleet   *fleet.Fleet     // nil without a topology
	active  map[int][]placed // by the number of the fault
}

// placed is a fault in a server.
type placed struct {
	fault         fault.Fault
	layer, number int
}

func newVirtualFaults(p *profiles.Profile, d *virtual.Driver, f *fleet.Fleet) *virtualFaults {
	return &virtualFaults{profile: p, driver: d, fleet: f, active: map[int][]placed{}}
}

func (v *virtualFaults) inject(i int, _ time.Duration) error {
	if err := v.lift(i); err != nil { // a second time: it begins anew
		return err
	}
	layer, numbers := v.profile.Hits(i)
	var all []placed
	for _, n := range numbers {
		f, err := v.profile.NewFault(i, layer, n)
		if err != nil {
			return err
		}
		all = append(all, placed{f, layer, n})
	}
	v.active[i] = all
	for _, p := range all {
		if v.fleet == nil {
			v.driver.Inject(p.fault)
			continue
		}
		v.driver.Change(func(now time.Duration) { v.fleet.Inject(now, p.layer, p.number, p.fault) })
	}
	return nil
}

func (v *virtualFaults) lift(i int) error {
	for _, p := range v.active[i] {
		if v.fleet == nil {
			v.driver.Lift(p.fault)
			continue
		}
		v.driver.Change(func(now time.Duration) { v.fleet.Lift(now, p.layer, p.number, p.fault) })
	}
	delete(v.active, i)
	return nil
}
