package live

import (
	"sync"
	"time"

	"knee/generator/host"
)

// usage adds up what this process spent during Runs.
type usage struct {
	mu         sync.Mutex
	cpu, wall  time.Duration
	cpuAtStart time.Duration
	startedAt  time.Duration
	running    bool
}

func (u *usage) begin(now time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.cpuAtStart, u.startedAt, u.running = host.CPUTime(), now, true
}

func (u *usage) end(now time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.cpu += host.CPUTime() - u.cpuAtStart
	u.wall += now - u.startedAt
	u.running = false
}

// total returns the sums, with the Run that is going on up to now.
func (u *usage) total(now time.Duration) (cpu, wall time.Duration) {
	u.mu.Lock()
	defer u.mu.Unlock()
	cpu, wall = u.cpu, u.wall
	if u.running {
		cpu += host.CPUTime() - u.cpuAtStart
		wall += now - u.startedAt
	}
	return cpu, wall
}
