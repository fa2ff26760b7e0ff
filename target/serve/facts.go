package serve

import (
	"math"
	"strconv"
	"time"

	"knee/target/protection"
	"knee/target/wire"
)

// facts are what the head of a request has said so far. A value that cannot be
// read is ignored, as if the header were absent, and counted in bad.
type facts struct {
	arrived     time.Duration // instant at which the request arrived
	class       int
	client      uint32
	work        time.Duration // 0: not given
	timeout     wire.Timeout
	tenant      string
	criticality protection.Criticality
	judged      bool // criticality was given
	cost        float64
	bytes       int64 // of the body; 0: none, or not known
	attempt     int   // 0: not given
	protected   bool
	bad         int
}

// longestWork is the longest work that a caller may ask for: no sum of instants
// can overflow.
const longestWork = 365 * 24 * time.Hour

// The headers that a request is read for, in lower case.
const (
	headerClass       = "knee-class"
	headerClient      = "knee-client"
	headerWork        = "knee-work-ns"
	headerTimeout     = "knee-timeout-ms"
	headerGRPC        = "grpc-timeout"
	headerEnvoy       = "x-envoy-expected-rq-timeout-ms"
	headerTenant      = "knee-tenant"
	headerCriticality = "knee-criticality"
	headerCost        = "knee-cost"
	headerAttempt     = "knee-attempt"
	headerProtected   = "knee-protected"
)

// header takes in one header of the request; name is in lower case. It keeps
// neither string.
func (s *Server) header(c *call, name, value string) {
	ok := true
	switch name {
	case headerClass:
		c.facts.class, ok = s.class[value] // an unknown one counts as the first
	case headerClient:
		n, err := strconv.ParseUint(value, 10, 32)
		if ok = err == nil; ok {
			c.facts.client = uint32(n)
		}
	case headerWork:
		n, err := strconv.ParseUint(value, 10, 63)
		if ok = err == nil && n <= uint64(longestWork); ok {
			c.facts.work = max(1, time.Duration(n))
		}
	case headerTimeout:
		ok = c.facts.timeout.Own(value)
	case headerGRPC:
		ok = c.facts.timeout.GRPC(value)
	case headerEnvoy:
		ok = c.facts.timeout.Envoy(value)
	case headerTenant:
		c.facts.tenant = s.tenant.intern(value)
	case headerCriticality:
		var level int
		if level, ok = wire.ParseCriticality(value); ok {
			c.facts.criticality, c.facts.judged = protection.Criticality(level), true
		}
	case headerCost:
		cost, err := strconv.ParseFloat(value, 64)
		if ok = err == nil && cost > 0 && !math.IsInf(cost, 1); ok {
			c.facts.cost = cost
		}
	case headerAttempt:
		n, err := strconv.ParseUint(value, 10, 31)
		if ok = err == nil && n > 0; ok {
			c.facts.attempt = int(n)
		}
	case headerProtected:
		c.facts.protected, ok = value == "1", value == "1" || value == "0"
	}
	if !ok {
		c.facts.bad++
	}
}

// identify fills in c's request from its facts: what it did not say is as its
// class has it, and how much work it is, is drawn. The lock is held, since the
// core may know the request already.
func (s *Server) identify(c *call) {
	f, r := &c.facts, &c.req
	class := &s.cfg.Classes[f.class]
	r.Class, r.Client = f.class, f.client
	r.Bytes, r.Attempt, r.Protected = f.bytes, f.attempt, f.protected
	r.Tenant, r.Criticality, r.Cost, r.Work = class.Tenant, class.Criticality, class.Cost, f.work
	if f.tenant != "" {
		r.Tenant = f.tenant
	}
	if f.judged {
		r.Criticality = f.criticality
	}
	if f.cost > 0 {
		r.Cost = f.cost
	}
	if r.Work == 0 {
		r.Work = s.cfg.Core.Service
		if s.cfg.Work != nil {
			r.Work = s.cfg.Work.Draw(s.draw)
		}
	}
	if !c.stranger {
		r.Arrived = f.arrived
	}
	r.Deadline = protection.Never
	if left := f.timeout.Left(); left < protection.Never-r.Arrived {
		r.Deadline = r.Arrived + left
	}
	c.stranger = false
	s.tally.arrive(c)
	s.tally.badHeaders += uint64(f.bad)
}
