//go:build unix

package cli

import (
	"os"
	"syscall"
)

// The shell that runs command lines.
const shellName, shellFlag = "/bin/sh", "-c"

// endGroup ends a process that leads a group, and the group: at once, or as it likes.
func endGroup(p *os.Process, atOnce bool) {
	signal := syscall.SIGTERM
	if atOnce {
		signal = syscall.SIGKILL
	}
	_ = syscall.Kill(-p.Pid, signal) // there may be nobody left
}
