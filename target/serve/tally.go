package serve

import (
	"maps"

	"knee/target/protection"
)

// A Share is what became of some of the requests: those of a class, of a tenant.
type Share struct {
	Arrived  uint64            `json:"arrived"`
	Served   uint64            `json:"served"`
	Degraded uint64            `json:"degraded"` // among served
	Failed   uint64            `json:"failed"`   // among them what a crash lost, and what came while the server was down
	Rejected map[string]uint64 `json:"rejected"` // by reason, at arrival or later
}

// unknownClass is the class of callers that were refused before they said who
// they are.
const unknownClass = "unknown"

// tally counts requests by class and by tenant.
type tally struct {
	names      []string
	classes    []Share
	strangers  Share
	tenants    map[string]*Share
	badHeaders uint64
}

func newTally(classes []Class) tally {
	t := tally{classes: make([]Share, len(classes)), tenants: map[string]*Share{}}
	for _, c := range classes {
		t.names = append(t.names, c.Name)
	}
	return t
}

// shares returns the shares that c counts in; the second may be nil.
func (t *tally) shares(c *call) (class, tenant *Share) {
	if c.stranger {
		return &t.strangers, nil
	}
	if name := c.req.Tenant; name != "" {
		if tenant = t.tenants[name]; tenant == nil {
			tenant = &Share{}
			t.tenants[name] = tenant
		}
	}
	return &t.classes[c.req.Class], tenant
}

func (t *tally) arrive(c *call) {
	t.each(c, func(s *Share) { s.Arrived++ })
}

// leave takes back the arrival of a stranger that is about to be identified.
func (t *tally) leave(c *call) {
	t.each(c, func(s *Share) { s.Arrived-- })
}

func (t *tally) serve(c *call) {
	t.each(c, func(s *Share) {
		s.Served++
		if c.req.Degraded {
			s.Degraded++
		}
	})
}

func (t *tally) fail(c *call) {
	t.each(c, func(s *Share) { s.Failed++ })
}

func (t *tally) reject(c *call, why protection.Reason) {
	t.each(c, func(s *Share) {
		if s.Rejected == nil {
			s.Rejected = map[string]uint64{}
		}
		s.Rejected[string(why)]++
	})
}

func (t *tally) each(c *call, f func(*Share)) {
	class, tenant := t.shares(c)
	f(class)
	if tenant != nil {
		f(tenant)
	}
}

// byClass returns copies of the shares by the name of the class.
func (t *tally) byClass() map[string]Share {
	all := make(map[string]Share, len(t.classes)+1)
	for i, s := range t.classes {
		all[t.names[i]] = s.clone()
	}
	if t.strangers.Arrived > 0 {
		all[unknownClass] = t.strangers.clone()
	}
	return all
}

func (t *tally) byTenant() map[string]Share {
	all := make(map[string]Share, len(t.tenants))
	for name, s := range t.tenants {
		all[name] = s.clone()
	}
	return all
}

// clone returns a copy that shares nothing, with a map even when it is empty.
func (s Share) clone() Share {
	rejected := make(map[string]uint64, len(s.Rejected))
	maps.Copy(rejected, s.Rejected)
	s.Rejected = rejected
	return s
}
