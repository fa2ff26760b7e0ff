package server

import "knee/target/protection"

// tally counts by reason. There are few reasons, so a walk beats a map.
type tally []reasonCount

type reasonCount struct {
	reason protection.Reason
	n      uint64
}

func (t *tally) add(reason protection.Reason) {
	for i := range *t {
		if (*t)[i].reason == reason {
			(*t)[i].n++
			return
		}
	}
	*t = append(*t, reasonCount{reason, 1})
}

// byReason returns the counts as a map that the caller may keep.
func (t tally) byReason() map[string]uint64 {
	m := make(map[string]uint64, len(t))
	for _, c := range t {
		m[string(c.reason)] = c.n
	}
	return m
}
