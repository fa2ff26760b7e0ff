//go:build !linux

package host

import (
	"errors"
	"time"
)

var errForeignCPU = errors.New("the CPU time of another process is not known on this platform: want Linux")

// ProcessCPU returns an error: the CPU time of another process is not known here.
func ProcessCPU(int) (time.Duration, error) { return 0, errForeignCPU }

// GroupCPU returns an error: there are no control groups here.
func GroupCPU(string) (time.Duration, error) { return 0, errForeignCPU }
