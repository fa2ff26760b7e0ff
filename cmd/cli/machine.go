package cli

import (
	"bufio"
	"os"
	"strings"
)

// cpuModel returns the name of the CPU, "" where it is not known.
func cpuModel() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		key, value, ok := strings.Cut(lines.Text(), ":")
		if key = strings.TrimSpace(key); ok && (key == "model name" || key == "Processor") {
			return strings.TrimSpace(value)
		}
	}
	return ""
}
