package order

// A flowKey says whose requests make up a flow: a tenant by its name, a class or
// a client by its number.
type flowKey struct {
	name   string
	number uint64
}

// A flow is the queue of one tenant, class or client.
type flow struct {
	list
	key     flowKey
	weight  float64 // above 0
	waiting float64 // cost of what waits
	place   [2]int  // in the rankings that it is in, plus one; 0 when in none

	next, previous *flow   // in the round of drr, or among the spare
	deficit        float64 // of drr: what it may still spend

	start  float64 // of sfq: start tag of its first request
	finish float64 // of sfq: finish tag of the last that was served
	serial uint64  // of sfq: when it last began to wait, compared with the others
}

// flows are the flows of which something waits, or that are remembered. Those
// forgotten are used again.
type flows struct {
	byKey map[flowKey]*flow
	spare *flow
}

// add makes an empty flow.
func (s *flows) add(key flowKey, weight float64) *flow {
	f := s.spare
	if f == nil {
		f = new(flow)
	} else {
		s.spare = f.next
	}
	*f = flow{key: key, weight: weight}
	if s.byKey == nil {
		s.byKey = map[flowKey]*flow{}
	}
	s.byKey[key] = f
	return f
}

// forget takes out f, which is empty.
func (s *flows) forget(f *flow) {
	delete(s.byKey, f.key)
	*f = flow{next: s.spare}
	s.spare = f
}
