package fault

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"knee/target/plugin"
	"knee/target/protection"
)

// Scope says which requests a fault hits. It is part of the knobs of every fault
// of requests.
type Scope struct {
	Share  float64 `yaml:"share" doc:"share of the requests that are hit, 0 to 1, each by chance; 0 switches the fault off"`
	Class  string  `yaml:"class" doc:"hit only requests of this class; empty: of every one"`
	Tenant string  `yaml:"tenant" doc:"hit only requests of this tenant; empty: of every one"`
	FirstN int     `yaml:"first_n" doc:"hit only so many requests, the first that qualify; at least 1; 0: no such limit"`
}

// everything hits every request.
var everything = Scope{Share: 1}

// whole reports whether the scope is all requests there are.
func (k Scope) whole() bool { return k == everything }

// build returns the scope at work, and all that is wrong with its knobs.
func (k Scope) build(s Setup) (*scope, error) {
	var errs []error
	if !(k.Share >= 0 && k.Share <= 1) {
		errs = append(errs, plugin.Knob("share", k.Share, "a share of the requests, 0 to 1"))
	}
	class := slices.Index(s.Classes, k.Class)
	if k.Class != "" && class < 0 {
		known := "one of " + strings.Join(s.Classes, ", ")
		errs = append(errs, plugin.Knob("class", fmt.Sprintf("%q", k.Class), known))
	}
	if k.FirstN < 0 {
		errs = append(errs, plugin.Knob("first_n", k.FirstN, "a number of requests, at least 1, or 0 for no limit"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &scope{Scope: k, anyClass: k.Class == "", class: class, rand: s.Rand}, nil
}

// scope is a Scope at work.
type scope struct {
	Scope
	anyClass bool
	class    int
	rand     *rand.Rand
	hit      int
}

// hits reports whether r is hit by a fault that has grown to a level from 0 to
// 1, which thins it out as share does.
func (s *scope) hits(r *protection.Request, level float64) bool {
	if !s.anyClass && r.Class != s.class || s.Tenant != "" && r.Tenant != s.Tenant || s.FirstN > 0 && s.hit >= s.FirstN {
		return false
	}
	if share := s.Share * level; share <= 0 || share < 1 && s.rand.Float64() >= share {
		return false
	}
	s.hit++
	return true
}

// Switch is the share of a fault that happens to the server as a whole.
type Switch struct {
	Share float64 `yaml:"share" doc:"1; 0 switches the fault off: it happens to the server as a whole, not to some of its requests"`
}

// on is the switch of a fault that happens.
var on = Switch{Share: 1}

func (k Switch) check() error {
	if k.Share != 0 && k.Share != 1 {
		return plugin.Knob("share", k.Share, "1, or 0 to switch the fault off: it happens to the server as a whole")
	}
	return nil
}
