//go:build !linux

package host

import "time"

func threadsNow() map[string]threadTimes { return nil }

func stolenNow() time.Duration { return 0 }

// Resident returns 0: it is not known here.
func Resident() int64 { return 0 }

// OpenDescriptors returns 0: it is not known here.
func OpenDescriptors() int { return 0 }

// MemoryLimit returns 0: it is not known here.
func MemoryLimit() int64 { return 0 }
