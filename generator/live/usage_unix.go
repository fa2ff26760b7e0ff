//go:build unix

package live

import (
	"syscall"
	"time"
)

// processCPU returns the CPU time that this process has used, 0 when unknown.
func processCPU() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
