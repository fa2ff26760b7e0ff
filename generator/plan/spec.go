package plan

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// Bounds of what a Spec may ask for.
const (
	MinRate     = 0.1       // arrivals per second; Hold and Ramp also allow 0
	MaxRate     = 1_000_000 // arrivals per second
	MaxDuration = 30 * 24 * time.Hour
	MaxSteps    = 100_000 // of a whole plan
)

const rates = "arrivals per second from 0.1 to 1000000"

// A FieldError says that one field of a Spec has a value outside its range.
type FieldError struct {
	Field string // path in the spec, such as "phases[2].rate"
	Is    string // what it is
	Want  string // what is allowed
}

func (e *FieldError) Error() string {
	return fmt.Sprintf("%s is %s: want %s", e.Field, e.Is, e.Want)
}

// FieldErrors lists the field errors in err, which may join several.
func FieldErrors(err error) []*FieldError {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []*FieldError
		for _, e := range joined.Unwrap() {
			all = append(all, FieldErrors(e)...)
		}
		return all
	}
	var f *FieldError
	if errors.As(err, &f) {
		return []*FieldError{f}
	}
	return nil
}

// Validate reports every fault of s at once, each as a *FieldError.
func (s *Spec) Validate() error {
	var f faults
	switch s.Arrivals {
	case Constant, Poisson:
	case Bursty:
		s.Burst.check(&f)
	case Replayed:
		s.Replay.check(&f)
	default:
		f.add("arrivals", s.Arrivals, processes)
	}
	if s.Clients < 1 || s.Clients > math.MaxInt32 {
		f.add("clients", s.Clients, "a number from 1 to 2147483647")
	}
	f.checkClasses(s.Classes)
	d, whole := f.checkPhases("", s.Phases, s.Arrivals == Replayed)
	if s.Arrivals == Replayed {
		s.checkReplay(&f, d, whole)
	} else {
		s.checkOwnPhases(&f, d, whole)
	}
	return errors.Join(f.errs...)
}

// checkReplay checks that a replay fits the plan's phases, which last d.
func (s *Spec) checkReplay(f *faults, d time.Duration, whole bool) {
	if whole && len(s.Phases) > 0 && s.Replay.Lasts() > d {
		f.add("phases", fmt.Sprintf("%v long", d), fmt.Sprintf("at least the %v of the replay", s.Replay.Lasts()))
	}
	for i, c := range s.Classes {
		if !shared(c) {
			f.add(fmt.Sprintf("classes[%d].phases", i), "given", "none beside a replay, which says when arrivals come")
		}
	}
}

// checkOwnPhases checks the phases of classes against the plan's, which last d.
func (s *Spec) checkOwnPhases(f *faults, d time.Duration, whole bool) {
	own := 0
	for i, c := range s.Classes {
		if shared(c) {
			continue
		}
		own++
		at := fmt.Sprintf("classes[%d].", i)
		if k := slices.IndexFunc(c.Phases, func(p Phase) bool { return p.Kind == Sweep }); k >= 0 {
			f.add(fmt.Sprintf("%sphases[%d].kind", at, k), Sweep, "hold, ramp or spike: a sweep is of all classes")
			continue
		}
		if lasts, ok := f.checkPhases(at, c.Phases, false); ok && whole && lasts > d {
			f.add(at+"phases", fmt.Sprintf("%v long", lasts), fmt.Sprintf("at most the %v of the plan", d))
		}
	}
	if own == 0 || own < len(s.Classes) {
		return
	}
	for i, p := range s.Phases {
		if p.Rate != 0 || p.From != 0 || p.To != 0 {
			f.add(fmt.Sprintf("phases[%d].rate", i), max(p.Rate, p.From, p.To), "0, where every class has phases of its own")
		}
	}
}

// faults collects what is wrong with a spec.
type faults struct{ errs []error }

func (f *faults) add(field string, is any, want string) {
	f.errs = append(f.errs, &FieldError{Field: field, Is: fmt.Sprint(is), Want: want})
}

func (f *faults) checkClasses(classes []Class) {
	if len(classes) == 0 {
		f.add("classes", "empty", "at least one class")
		return
	}
	var total float64
	sharing := false
	named := map[string]bool{}
	for i, c := range classes {
		at := fmt.Sprintf("classes[%d].", i)
		if c.Name == "" {
			f.add(at+"name", "empty", "a name")
		} else if named[c.Name] {
			f.add(at+"name", fmt.Sprintf("%q", c.Name), "a name that no other class has")
		}
		named[c.Name] = true
		if !(c.Weight >= 0 && c.Weight <= 1e9) {
			f.add(at+"weight", c.Weight, "a number from 0 to 1e9")
		}
		if c.Criticality < 0 || c.Criticality > 3 {
			f.add(at+"criticality", c.Criticality, "0 (sheddable) to 3 (critical_plus)")
		}
		if !(c.Cost > 0 && c.Cost <= 1e9) {
			f.add(at+"cost", c.Cost, "a number above 0, up to 1e9")
		}
		if c.Timeout <= 0 {
			f.add(at+"timeout", c.Timeout, "a duration above 0")
		}
		if c.Deadline <= 0 {
			f.add(at+"deadline", c.Deadline, "a duration above 0")
		}
		if shared(c) {
			total += c.Weight
			sharing = true
		}
	}
	if sharing && total == 0 {
		f.add("classes", "without weight", "at least one class with a weight above 0")
	}
}

// checkPhases checks the phases whose field stands at the path within. It
// returns how long they are in all, and whether that is known.
func (f *faults) checkPhases(within string, phases []Phase, replay bool) (total time.Duration, whole bool) {
	if len(phases) == 0 {
		if !replay {
			f.add(within+"phases", "empty", "at least one phase")
		}
		return 0, replay
	}
	steps, whole := 0, true
	for i, p := range phases {
		at := fmt.Sprintf("%sphases[%d].", within, i)
		before := len(f.errs)
		if replay {
			p.checkReplayed(f, at)
		} else {
			p.check(f, at)
		}
		if len(f.errs) > before {
			whole = false
			continue
		}
		n, d := p.size()
		if steps += n; steps > MaxSteps {
			f.add(at+"passes", p.Passes, fmt.Sprintf("fewer, or a larger ratio, so that the plan has at most %d steps", MaxSteps))
			return total, false
		}
		if total += d; total > MaxDuration {
			field, is := "for", p.For
			if p.Kind == Sweep {
				field, is = "hold", p.Hold
			}
			f.add(at+field, is, fmt.Sprintf("less, so that the plan takes at most %v in all", MaxDuration))
			return total, false
		}
	}
	return total, whole
}
