//go:build !linux

package host

import "time"

// A procFile is nothing here.
type procFile struct{}

func (m *Meter) threadsNow(map[int]threadTimes) {}

func (m *Meter) stolenNow() time.Duration { return 0 }

// Resident returns 0: it is not known here.
func (m *Meter) Resident() int64 { return 0 }

// OpenDescriptors returns 0: it is not known here.
func OpenDescriptors() int { return 0 }

// MemoryLimit returns 0: it is not known here.
func MemoryLimit() int64 { return 0 }
