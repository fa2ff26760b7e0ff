//go:build !linux

package live

import "time"

func newPacer(_ bool, now func() time.Duration) pacer { return newTimerPacer(now) }
