package analysis

import (
	"fmt"
	"sort"
	"time"

	"knee/generator/record"
)

// What a generator needs to have left of its CPUs.
const (
	// fullUse is the share of its CPUs, or of the time of its busiest thread, from
	// which a generator has none left: what it does late from there on, sending or
	// reading, is its own.
	fullUse = 0.95
	// highUse is the one from which it is suspect.
	highUse = 0.85
	// waiting is the share of the time that the busiest thread may be ready to run
	// and have no CPU before the generator is suspect: others run on its CPUs.
	waiting = 0.33
	// starved is the one from which answers are read so late that what is late may
	// be the generator's doing. Loads that went well all the same went well.
	starved = 0.4
	// nearLimit is the share of its descriptors that a generator may have open.
	nearLimit = 0.9
)

// useOf returns what the generator took of its machine during a step; nil when
// nobody looked.
func useOf(from, to time.Duration, m Meta) *Use {
	if m.Run.Clock == Virtual {
		return nil
	}
	readings := m.Readings
	// A reading is of the step when its middle is.
	middle := func(r record.Reading) time.Duration { return r.At - r.For/2 }
	first := sort.Search(len(readings), func(i int) bool { return middle(readings[i]) >= from })
	var u Use
	var length, cpu, ran, waited, stolen time.Duration
	for _, r := range readings[first:] {
		if middle(r) >= to {
			break
		}
		length += r.For
		cpu += r.CPU
		ran += r.ThreadRan
		waited += r.ThreadWaited
		stolen += r.Stolen
		u.GCCycles += r.GCCycles
		u.GCPauseMS = max(u.GCPauseMS, ms(r.GCPause))
		u.Goroutines = max(u.Goroutines, r.Goroutines)
		u.MemoryBytes = max(u.MemoryBytes, r.Memory)
		u.Connections = max(u.Connections, r.Connections)
		u.Descriptors = max(u.Descriptors, r.Descriptors)
	}
	if length <= 0 {
		return nil
	}
	share := func(d time.Duration) float64 { return float64(d) / float64(length) }
	if cpu > 0 {
		u.CPUShare = some(share(cpu))
	}
	if ran > 0 {
		u.ThreadShare, u.WaitedShare, u.StolenShare = some(share(ran)), some(share(waited)), some(share(stolen))
	}
	return &u
}

// taken is the largest share that the generator took of what it can take: of the
// CPUs, or of the time of the thread that has most to do. It says which.
func (u *Use) taken(m Meta) (share float64, of string) {
	if u.CPUShare != nil && m.CPUs > 0 {
		share, of = *u.CPUShare/m.CPUs, fmt.Sprintf("%.0f%% of the %.3g CPUs that it may use", 100**u.CPUShare/m.CPUs, m.CPUs)
	}
	if u.ThreadShare != nil && *u.ThreadShare+*u.WaitedShare > share {
		share = *u.ThreadShare + *u.WaitedShare
		of = fmt.Sprintf("its busiest thread ran %.0f%% of the time, and waited %.0f%% for a CPU", 100**u.ThreadShare, 100**u.WaitedShare)
	}
	return share, of
}
