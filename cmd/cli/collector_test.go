package cli

import (
	"math"
	"runtime"
	"runtime/debug"
	"testing"
)

func TestSetCollectorLeavesWhatTheEnvironmentSays(t *testing.T) {
	percent, limit := debug.SetGCPercent(77), debug.SetMemoryLimit(math.MaxInt64)
	t.Cleanup(func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	})
	set := map[string]string{"GOGC": "77", "GOMEMLIMIT": "off"}
	env := func(name string) (string, bool) {
		v, ok := set[name]
		return v, ok
	}
	setCollector(env)
	if got := debug.SetGCPercent(77); got != 77 {
		t.Errorf("GOGC was set to %d though the environment has it", got)
	}
	if got := debug.SetMemoryLimit(-1); got != math.MaxInt64 {
		t.Errorf("GOMEMLIMIT was set to %d though the environment has it", got)
	}
	clear(set)
	setCollector(env)
	if got := debug.SetGCPercent(77); got != gcPercent {
		t.Errorf("GOGC is %d, want %d", got, gcPercent)
	}
	if got := debug.SetMemoryLimit(-1); runtime.GOOS == "linux" && (got < 1<<20 || got == math.MaxInt64) {
		t.Errorf("GOMEMLIMIT is %d, want a share of the memory there is", got)
	}
}
