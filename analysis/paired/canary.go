package paired

import (
	"fmt"
	"math"

	"knee/analysis/stat"
)

// enough is how many readings a median needs.
const enough = 3

// A Speed is one that a machine has.
type Speed struct {
	Name   string
	Steady float64 // share of its median by which it may differ
}

// A Canary says which blocks ran on a disturbed machine, from what the machine did
// before and after them beside what it had done by then. It knows nothing of what
// was measured in them, or the bound on false alarms would be gone.
type Canary struct {
	speeds []Speed
	seen   [][]float64
}

// NewCanary returns one that reads those speeds.
func NewCanary(speeds ...Speed) *Canary {
	return &Canary{speeds: speeds, seen: make([][]float64, len(speeds))}
}

// Read takes in the speeds of the machine at an instant, in any unit, and says which
// of them is off, "" when none is.
func (c *Canary) Read(now []float64) string {
	off := ""
	for i, v := range now {
		if len(c.seen[i]) >= enough && off == "" {
			median := stat.Median(c.seen[i])
			if d := v/median - 1; math.Abs(d) > c.speeds[i].Steady {
				off = fmt.Sprintf("%s was %+.0f%% off its median", c.speeds[i].Name, 100*d)
			}
		}
		c.seen[i] = append(c.seen[i], v)
	}
	return off
}
