//go:build !unix

package host

import "time"

// CPUTime returns 0: the CPU time of the process is not known here.
func CPUTime() time.Duration { return 0 }
