package cli

import (
	"runtime/debug"

	"knee/generator/host"
)

// gcPercent is GOGC of this program: a heap of a few megabytes may grow fivefold.
const gcPercent = 400

// memoryShare is the part of the memory that one process of this program may fill
// before it collects garbage whatever that costs. There may be two of them, and
// the server is not to be pushed out.
const memoryShare = 0.4

// setCollector has garbage collected less often than Go does by itself, since
// both the generator and the built-in server hold little and discard much: a
// collection less is CPU, and lag, that the measurement does not pay. Where much
// is held, the limit of memory takes over. What the environment says of either
// stands.
func setCollector(env func(string) (string, bool)) {
	if _, set := env("GOGC"); !set {
		debug.SetGCPercent(gcPercent)
	}
	if _, set := env("GOMEMLIMIT"); !set {
		if all := host.MemoryLimit(); all > 0 {
			debug.SetMemoryLimit(int64(memoryShare * float64(all)))
		}
	}
}
