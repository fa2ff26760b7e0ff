package cli

import (
	"fmt"
	"testing"
	"time"

	"knee/generator/plan"
	"knee/profiles"
	"knee/target/fault"
	"knee/target/serve"
)

// servedFaults puts faults into a server of this process.
type servedFaults struct{ server *serve.Server }

func (f servedFaults) inject(i int, lease time.Duration) error { return f.server.Inject(i, lease) }

func (f servedFaults) lift(i int) error { return f.server.Lift(i) }

// lasts returns how long phases take.
func lasts(phases []plan.Phase) (total time.Duration) {
	for _, ph := range phases {
		total += ph.For
	}
	return total
}

// squeeze moves the faults of p, whose instants are those of a load of its own,
// into a load of another length.
func squeeze(p *profiles.Profile, own, load time.Duration) {
	if own == 0 {
		return
	}
	for i := range p.Faults {
		f := &p.Faults[i]
		for _, d := range []*profiles.Duration{&f.At, &f.For, &f.Ramp} {
			*d = profiles.Duration(float64(*d) * float64(load) / float64(own))
		}
	}
}

// Under every fault, both worlds give the same records: alone, grown along a ramp,
// in a narrower scope, several at once. The load lasts 1.2 s; its overload begins
// at 400 ms.
func TestBothWorldsGiveTheSameFaults(t *testing.T) {
	const load = "load.phases=[{kind: hold, rate: 1x, for: 1.2s}]" // as long as what is offered in its place
	knobs := map[string][]string{
		"slow_service":     {"factor: 3", "factor: 4, ramp: 200ms", "fixed: 30ms, share: 0.5", "factor: 5, first_n: 20"},
		"lose_workers":     {"count: 3", "share: 0.8, ramp: 200ms"},
		"stall":            {"share: 1", "share: 0.05"},
		"pause":            {""},
		"error_share":      {"share: 0.3", "share: 1, ramp: 250ms"},
		"crash_restart":    {"down: 80ms, cold_factor: 4, warm_up: 150ms", "down: 0s, warm_up: 0s"},
		"slow_reject":      {"reject_cost: 0.2"},
		"contention":       {"contention: 0.1", "coherence: 0.02, ramp: 100ms"},
		"dependency_stall": {"share: 0.05", "share: 0.2, hold: 20ms"},
		"expensive_burst":  {"share: 0.1, factor: 6"},
	}
	for _, info := range fault.Registry.All() {
		if testing.Short() && info.Name != "crash_restart" && info.Name != "pause" {
			continue // -short is for the race detector: these two touch the most
		}
		cases := knobs[info.Name]
		if cases == nil {
			cases = []string{""} // one that has no line above is tried as it is by default
		}
		for _, k := range cases {
			for _, window := range []string{"at: 150ms, for: 300ms", "at: 500ms"} {
				t.Run(fmt.Sprintf("%s/%s/%s", info.Name, k, window), func(t *testing.T) {
					one := fmt.Sprintf("{kind: %s, %s, %s}", info.Name, window, k)
					if k == "" {
						one = fmt.Sprintf("{kind: %s, %s}", info.Name, window)
					}
					compareWorlds(t, http1, "default", profiles.Overrides{Set: []string{load, "faults=[" + one + "]"}})
				})
			}
		}
	}
	t.Run("several", func(t *testing.T) {
		compareWorlds(t, http1, "default", profiles.Overrides{Protect: "queue_bound:count=30", Set: []string{
			load, "faults=[{kind: slow_service, at: 100ms, for: 700ms, factor: 2}, {kind: error_share, at: 200ms, for: 400ms, share: 0.2}, " +
				"{kind: crash_restart, at: 450ms, for: 500ms, down: 50ms, warm_up: 100ms}, {kind: pause, at: 900ms, for: 60ms}]",
		}})
	})
	t.Run("batches", func(t *testing.T) {
		compareWorlds(t, http1, "default", profiles.Overrides{Set: []string{
			load, "target.batch={size: 4, delay: 5ms, overhead: 2ms}", "faults=[{kind: stall, at: 200ms, for: 100ms}]",
		}})
	})
}
