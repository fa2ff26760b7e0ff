package plan

import "time"

// A Cue is something that is to happen during a plan beside its arrivals, such as
// a fault that begins or ends. Drivers carry cues out in the order of their
// instants, and those of one instant in the order given.
type Cue struct {
	At time.Duration           // since the start of the plan, at least 0; what is due after its end does not happen
	Do func(now time.Duration) // now is the instant on the clock of the run
}
