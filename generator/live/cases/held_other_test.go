//go:build !linux

package cases

// connectionsTo would return how many connections to a server this process has not
// closed; here that is not known.
func connectionsTo(string) int { return 0 }
