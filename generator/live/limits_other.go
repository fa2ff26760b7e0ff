//go:build !linux

package live

// localPorts returns the number of ports that IANA sets aside for clients.
func localPorts() int { return 65535 - 49152 + 1 }
