package plan

import (
	"errors"
	"fmt"
	"math"
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
	if s.Arrivals > Poisson {
		f.add("arrivals", s.Arrivals, "constant or poisson")
	}
	if s.Clients < 1 || s.Clients > math.MaxInt32 {
		f.add("clients", s.Clients, "a number from 1 to 2147483647")
	}
	f.checkClasses(s.Classes)
	f.checkPhases(s.Phases)
	return errors.Join(f.errs...)
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
		total += c.Weight
	}
	if total == 0 {
		f.add("classes", "without weight", "at least one class with a weight above 0")
	}
}

func (f *faults) checkPhases(phases []Phase) {
	if len(phases) == 0 {
		f.add("phases", "empty", "at least one phase")
		return
	}
	steps, duration := 0, time.Duration(0)
	for i, p := range phases {
		at := fmt.Sprintf("phases[%d].", i)
		before := len(f.errs)
		p.check(f, at)
		if len(f.errs) > before {
			continue
		}
		n, d := p.size()
		if steps += n; steps > MaxSteps {
			f.add(at+"passes", p.Passes, fmt.Sprintf("fewer, or a larger ratio, so that the plan has at most %d steps", MaxSteps))
			return
		}
		if duration += d; duration > MaxDuration {
			field, is := "for", p.For
			if p.Kind == Sweep {
				field, is = "hold", p.Hold
			}
			f.add(at+field, is, fmt.Sprintf("less, so that the plan takes at most %v in all", MaxDuration))
			return
		}
	}
}
