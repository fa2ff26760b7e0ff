package server

import "maps"

// Plus returns the totals of two servers, of which the higher Peak counts.
func (n Counts) Plus(m Counts) Counts {
	return Counts{
		Arrived: n.Arrived + m.Arrived, Served: n.Served + m.Served, Degraded: n.Degraded + m.Degraded,
		Failed: n.Failed + m.Failed, FailedBy: plus(n.FailedBy, m.FailedBy),
		Refused: plus(n.Refused, m.Refused), Dropped: plus(n.Dropped, m.Dropped),
		Resets: n.Resets + m.Resets, Peak: max(n.Peak, m.Peak), Worked: n.Worked + m.Worked,
	}
}

func plus(a, b map[string]uint64) map[string]uint64 {
	all := maps.Clone(a)
	if all == nil {
		all = map[string]uint64{}
	}
	for reason, n := range b {
		all[reason] += n
	}
	return all
}
