//go:build !unix

package live

import "time"

// processCPU returns 0: the CPU time of the process is not known here.
func processCPU() time.Duration { return 0 }
