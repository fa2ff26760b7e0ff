package report

import (
	"fmt"
	"strings"

	"knee/analysis"
)

// topology returns a line for each layer: how many requests and attempts came to
// it for each original of the callers, and what became of them.
func topology(t *analysis.Topology, originals uint64, o Options) []string {
	if t == nil {
		return nil
	}
	rows := [][]string{{"layer", "servers", "requests", "attempts", "per original", "served", "rejected", "failed", "gave up", "crashes"}}
	for _, l := range t.Layers {
		var crashes uint64
		for _, s := range l.Servers {
			crashes += s.Crashes
		}
		servers := fmt.Sprint(len(l.Servers))
		if l.LeastServers < len(l.Servers) {
			servers = fmt.Sprintf("%d to %d", l.LeastServers, len(l.Servers))
		}
		per := absent
		if originals > 0 {
			per = fixed(float64(l.Attempts)/float64(originals), 2)
		}
		rows = append(rows, []string{
			l.Name, servers, fmt.Sprint(l.Requests), fmt.Sprint(l.Attempts), per, percent(l.Served, l.Attempts) + "%",
			percent(l.Rejected, l.Attempts) + "%", percent(l.Failed, l.Attempts) + "%", percent(l.GaveUp, l.Attempts) + "%", fmt.Sprint(crashes),
		})
	}
	lines := make([]string, len(rows))
	for n := range rows[0] {
		width := 0
		for _, r := range rows {
			width = max(width, len(r[n]))
		}
		for i, r := range rows {
			if n == 0 {
				lines[i] = fmt.Sprintf("  %-*s", width, r[n])
			} else {
				lines[i] += fmt.Sprintf("  %*s", width, r[n])
			}
		}
	}
	lines[0] = o.paint(bold, strings.TrimRight(lines[0], " "))
	if p := t.Pools; p != nil {
		lines = append(lines, wrap(fmt.Sprintf("  connections: %d, at most %d in use and %d requests waiting for one; %d waited, %d of them in vain",
			p.Connections, p.PeakOpen, p.PeakWaiting, p.Waited, p.Full+p.TimedOut), o.width(), 4))
	}
	return lines
}
