package protection

import "time"

// maxGrantees is how many clients breakwater knows at most. Of more, those that
// were heard of last.
const maxGrantees = 1 << 16

// A grantee is a client as breakwater knows it.
type grantee struct {
	client         uint32
	open           int // requests inside
	credits        int
	heard          time.Duration
	earlier, later *grantee // by heard; later is the next free one when it is not in use
}

// grantees are clients by identity, and in the order in which they were heard of.
type grantees struct {
	by             map[uint32]*grantee
	oldest, newest *grantee
	free           *grantee
}

// add takes in a client that is not known. It is to be renewed next.
func (s *grantees) add(client uint32) *grantee {
	g := s.free
	if g == nil {
		g = new(grantee)
	} else {
		s.free = g.later
	}
	*g = grantee{client: client}
	s.by[client] = g
	s.append(g)
	return g
}

// renew notes that g was heard of at now, which is not before any other was.
func (s *grantees) renew(g *grantee, now time.Duration) {
	g.heard = now
	if g != s.newest {
		s.unlink(g)
		s.append(g)
	}
}

func (s *grantees) remove(g *grantee) {
	s.unlink(g)
	delete(s.by, g.client)
	g.later, s.free = s.free, g
}

func (s *grantees) append(g *grantee) {
	g.earlier, g.later = s.newest, nil
	if s.newest != nil {
		s.newest.later = g
	} else {
		s.oldest = g
	}
	s.newest = g
}

func (s *grantees) unlink(g *grantee) {
	if g.earlier != nil {
		g.earlier.later = g.later
	} else {
		s.oldest = g.later
	}
	if g.later != nil {
		g.later.earlier = g.earlier
	} else {
		s.newest = g.earlier
	}
}
