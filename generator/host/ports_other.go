//go:build !linux

package host

// Ports returns the number of ports that IANA sets aside for clients.
func Ports() int { return 65535 - 49152 + 1 }
