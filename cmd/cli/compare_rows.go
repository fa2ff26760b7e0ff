package cli

import (
	"fmt"
	"math"
	"time"

	"knee/profiles"
	"knee/target/order"
	"knee/target/plugin"
	"knee/target/protection"
)

// everyRow returns the rows of --all: no protection, the profile's own chain,
// every protection with its defaults, and every order without and with a
// deadline. What reads the wall clock is left out of virtual time.
func everyRow(p *profiles.Profile, wall bool) []boardRow {
	const fifo = "fifo"
	rows := []boardRow{{protect: "none", order: fifo}}
	if len(p.Target.Protections) > 0 || p.Target.Order.Kind != fifo {
		rows = append(rows, boardRow{})
	}
	for _, i := range protection.Registry.All() {
		if i.Name == "none" || i.Wall && !wall {
			continue
		}
		rows = append(rows, boardRow{protect: withSize(p, i), order: fifo})
	}
	bound, deadline := sizes(p)["queue_bound"], "deadline"
	rows = append(rows, boardRow{protect: bound + "+" + deadline, order: fifo}, boardRow{protect: "codel:variant=maurer", order: fifo})
	for _, i := range order.Registry.All() {
		if i.Name == fifo {
			continue
		}
		rows = append(rows, boardRow{protect: "none", order: i.Name}, boardRow{protect: deadline, order: i.Name})
	}
	return rows
}

// withSize returns a protection as a chain. One that has to be told a size, which
// it has no default for, gets one that fits p.
func withSize(p *profiles.Profile, i plugin.Info[protection.New]) string {
	if sized, ok := sizes(p)[i.Name]; ok {
		return sized
	}
	return i.Name
}

// sizes are the protections that have no default size, with one that fits p: half
// the timeout may be spent waiting.
func sizes(p *profiles.Profile) map[string]string {
	wait := p.ClientOptions().Classes[0].Timeout / 2
	inside := math.Ceil(p.Capacity() * (p.Target.Service.Mean + wait).Seconds())
	return map[string]string{
		"queue_bound": "queue_bound:wait=" + wait.Round(time.Microsecond).String(),
		"limit":       fmt.Sprintf("limit:limit=%.0f", max(1, inside)),
		"rate":        fmt.Sprintf("rate:rate=%.6g", p.Capacity()),
	}
}
