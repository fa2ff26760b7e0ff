package plan

import "fmt"

// Validate reports an index that is not within the number of parts.
func (s Share) Validate() error {
	if s.Of < 1 {
		return &FieldError{Field: "share.of", Is: fmt.Sprint(s.Of), Want: "at least 1"}
	}
	if s.Index < 0 || s.Index >= s.Of {
		return &FieldError{Field: "share.index", Is: fmt.Sprint(s.Index), Want: fmt.Sprintf("0 to %d", s.Of-1)}
	}
	return nil
}

// holds reports whether the client belongs to the share.
func (s Share) holds(client uint32) bool {
	return s.Of == 1 || uint64(client)%uint64(s.Of) == uint64(s.Index)
}

// part returns the share of the clients that it holds, 0 to 1.
func (s Share) part(clients int) float64 {
	if s.Index >= clients {
		return 0
	}
	return float64((clients-1-s.Index)/s.Of+1) / float64(clients)
}

// Take returns the part of the plan whose clients belong to the share. Its
// arrivals are those of the whole, unchanged; steps, duration, classes and
// clients stay those of the whole too. Where there are fewer clients than
// parts, some parts are empty. A share of a share is taken from its clients.
// Take panics on a share that Share.Validate refuses.
func (p *Plan) Take(s Share) *Plan {
	if err := s.Validate(); err != nil {
		panic("plan: " + err.Error())
	}
	part := *p
	part.share = Share{Index: p.share.Index + p.share.Of*s.Index, Of: p.share.Of * s.Of}
	return &part
}
