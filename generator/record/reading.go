package record

import "time"

// A Reading is what the generator took of its machine during a stretch of a run.
// What the platform does not tell is 0.
type Reading struct {
	At  time.Duration `json:"at_ns"`  // its end, on the run's clock
	For time.Duration `json:"for_ns"` // its length
	CPU time.Duration `json:"cpu_ns"` // of the process
	// Of the thread that ran or wanted to run most: how long it ran, and how long it
	// was ready to and had no CPU.
	ThreadRan    time.Duration `json:"thread_ran_ns"`
	ThreadWaited time.Duration `json:"thread_waited_ns"`
	Stolen       time.Duration `json:"stolen_ns"` // of all CPUs, by the hypervisor
	GCCycles     int           `json:"gc_cycles"`
	GCPause      time.Duration `json:"gc_pause_ns"` // the longest
	Goroutines   int           `json:"goroutines"`  // at its end, as what follows
	Memory       int64         `json:"memory_bytes"`
	Connections  int           `json:"connections"`
	Descriptors  int           `json:"descriptors"`
}
