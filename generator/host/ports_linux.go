package host

import (
	"fmt"
	"os"
)

// Ports returns how many local ports there are for connections to one
// address; 0 when unknown.
func Ports() int {
	text, err := os.ReadFile("/proc/sys/net/ipv4/ip_local_port_range")
	if err != nil {
		return 0
	}
	var low, high int
	if _, err := fmt.Sscan(string(text), &low, &high); err != nil || high < low {
		return 0
	}
	return high - low + 1
}
