package plan

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// stepsOf lays phases end to end.
func stepsOf(seed uint64, phases []Phase) []Step {
	var steps []Step
	var start time.Duration
	for i, p := range phases {
		label := p.Label
		if label == "" {
			label = string(p.Kind)
		}
		add := func(pass int, from, to float64, d time.Duration) {
			steps = append(steps, Step{
				Index: len(steps), Phase: i, Label: label, Name: p.Name,
				Start: start, Duration: d, From: from, To: to, Pass: pass,
			})
			start += d
		}
		switch p.Kind {
		case Ramp:
			add(0, p.From, p.To, p.For)
		case Sweep:
			r := rand.New(stream(seed, fmt.Sprintf("sweep %d", i)))
			loads := p.loads()
			for pass := range p.Passes {
				r.Shuffle(len(loads), func(a, b int) { loads[a], loads[b] = loads[b], loads[a] })
				for _, load := range loads {
					add(pass, load, load, p.Hold)
				}
			}
		default: // Hold and Spike
			add(0, p.Rate, p.Rate, p.For)
		}
	}
	return steps
}
