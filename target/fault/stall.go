package fault

import (
	"errors"
	"time"

	"knee/target/plugin"
	"knee/target/protection"
)

func init() {
	Registry.Register(plugin.Info[New]{
		Name:  "stall",
		Doc:   "workers stop: no work makes progress, or that of the requests that are hit",
		Knobs: func() any { return &stallKnobs{Scope: everything} },
		New:   newStall,
	})
}

type stallKnobs struct {
	Scope `yaml:",inline"`
}

// stall stops all workers, whatever they are doing, as a lock that is never
// released does. In a narrower scope it stops a worker as it takes a request that
// is hit. Everything goes on when it is lifted.
type stall struct {
	scope *scope
	all   bool
}

func newStall(s Setup, knobs any) (Fault, error) {
	k := knobs.(*stallKnobs)
	scope, err := k.build(s)
	if err := errors.Join(err, noRamp(s, "stall")); err != nil {
		return nil, err
	}
	return &stall{scope: scope, all: k.whole()}, nil
}

func (f *stall) Bend(_ time.Duration, c *Conditions) time.Duration {
	c.Stalled = c.Stalled || f.all
	return protection.Never
}

func (f *stall) Treat(_ time.Duration, r *protection.Request, t *Treatment) {
	if !f.all && f.scope.hits(r, 1) {
		t.Stuck = true
	}
}
