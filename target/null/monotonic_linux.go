package null

import "golang.org/x/sys/unix"

// monotonic returns CLOCK_MONOTONIC in nanoseconds, 0 when it cannot be read.
func monotonic() int64 {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &ts); err != nil {
		return 0
	}
	return ts.Nano()
}
