//go:build unix

package host

import (
	"math"
	"syscall"
)

// Descriptors returns how many file descriptors this process may have open; 0
// when there is no limit.
func Descriptors() int {
	var l syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l); err != nil || uint64(l.Cur) > math.MaxInt32 {
		return 0
	}
	return int(l.Cur)
}
