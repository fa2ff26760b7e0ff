package host

import "time"

// Usage is what this process took between two readings of a Meter.
type Usage struct {
	CPU time.Duration // of all threads together
	// The thread that ran or wanted to run most: how long it ran, and how long it
	// was ready to and had no CPU. Both are 0 where the platform does not tell.
	ThreadRan, ThreadWaited time.Duration
	// Stolen is the time of this machine's CPUs, of all together, that its
	// hypervisor gave to other machines; 0 where it is not known.
	Stolen time.Duration
}

// A Meter measures what this process takes.
type Meter struct {
	cpu     time.Duration
	stolen  time.Duration
	threads map[int]threadTimes // by number, at the last reading
	spare   map[int]threadTimes // for the next one

	file procFile // what is read of the kernel
	ids  []int    // of the threads
	path []byte
}

// threadTimes are what a thread took since it began.
type threadTimes struct{ ran, waited time.Duration }

// NewMeter returns a meter that measures from now on.
func NewMeter() *Meter {
	m := &Meter{threads: map[int]threadTimes{}, spare: map[int]threadTimes{}}
	m.Read()
	return m
}

// Read returns what was taken since NewMeter or the last Read. It takes some tens
// of microseconds. What the kernel does not tell this time, as when no descriptor
// is left to read it with, is in the next reading.
func (m *Meter) Read() Usage {
	cpu, stolen, threads := CPUTime(), m.stolenNow(), m.spare
	clear(threads)
	m.threadsNow(threads)
	stolen = max(stolen, m.stolen)
	u := Usage{CPU: cpu - m.cpu, Stolen: stolen - m.stolen}
	m.cpu, m.stolen = cpu, stolen
	if len(threads) > 0 {
		u.ThreadRan, u.ThreadWaited = busiest(m.threads, threads)
		m.threads, m.spare = threads, m.threads
	}
	return u
}

// busiest returns what the thread took that took most between two readings.
// One that began in between took all it has.
func busiest(before, after map[int]threadTimes) (ran, waited time.Duration) {
	for id, now := range after {
		was := before[id]
		if now.ran < was.ran { // another thread has got the number
			was = threadTimes{}
		}
		r, w := now.ran-was.ran, max(0, now.waited-was.waited)
		if r+w > ran+waited {
			ran, waited = r, w
		}
	}
	return ran, waited
}
