package host

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ProcessCPU returns the CPU time that the process pid has used so far, to the
// nanosecond, without that of its children. It returns an error when there is no
// such process.
func ProcessCPU(pid int) (time.Duration, error) {
	const mostPids = 1 << 22 // of Linux: a greater one would be another clock
	if pid < 1 || pid > mostPids {
		return 0, fmt.Errorf("process %d: there is none", pid)
	}
	// The clock of another process, see clock_getcpuclockid(3): what the kernel
	// scheduled, where /proc/PID/stat has ticks of 10 ms.
	const scheduled = 2
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|scheduled), &t); errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ESRCH) {
		return 0, fmt.Errorf("process %d: there is none", pid)
	} else if err != nil {
		return 0, fmt.Errorf("process %d: %w", pid, err)
	}
	return time.Duration(t.Nano()), nil
}

// GroupCPU returns the CPU time that the control group at dir has used so far, such
// as /sys/fs/cgroup/system.slice/nginx.service. It reads cpu.stat of version 2 and
// cpuacct.usage of version 1.
func GroupCPU(dir string) (time.Duration, error) {
	if text, err := os.ReadFile(filepath.Join(dir, "cpu.stat")); err == nil {
		for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
			if value, ok := strings.CutPrefix(lines.Text(), "usage_usec "); ok {
				us, err := strconv.ParseInt(value, 10, 64)
				if err != nil {
					return 0, fmt.Errorf("%s/cpu.stat: usage_usec is %q: want a number", dir, value)
				}
				return time.Duration(us) * time.Microsecond, nil
			}
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "cpuacct.usage"))
	if err != nil {
		return 0, fmt.Errorf("%s: neither cpu.stat with usage_usec nor cpuacct.usage is there: want the directory of a control group", dir)
	}
	ns, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s/cpuacct.usage: %q: want a number", dir, text)
	}
	return time.Duration(ns), nil
}
