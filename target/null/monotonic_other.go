//go:build !linux

package null

// monotonic returns 0: instants count from the start of the server.
func monotonic() int64 { return 0 }
