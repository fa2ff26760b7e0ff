package search

// SetAside returns the trials, numbered from 0 in the order in which they were
// observed, that Points leaves out: those that were taken for warm-up and those
// that longer ones took the place of.
func (s *Search) SetAside() []int {
	var trials []int
	levels := s.levels()
	for i := range s.log {
		if e := &s.log[i]; e.stale || s.superseded(e, levels) {
			trials = append(trials, i)
		}
	}
	return trials
}
