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
	timeout     wire.Timeout
	tenant      string
	criticality protection.Criticality
	judged      bool // criticality was given
	cost        float64
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
)

// header takes in one header of the request; name is in lower case. It keeps
// neither string.
func (s *Server) header(c *call, name, value string) {
	ok := true
	switch name {
	case headerClass:
		c.req.Class, ok = s.class[value] // an unknown one counts as the first
	case headerClient:
		n, err := strconv.ParseUint(value, 10, 32)
		if ok = err == nil; ok {
			c.req.Client = uint32(n)
		}
	case headerWork:
		n, err := strconv.ParseUint(value, 10, 63)
		if ok = err == nil && n <= uint64(longestWork); ok {
			c.req.Work = max(1, time.Duration(n))
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
	}
	if !ok {
		c.facts.bad++
	}
}

// complete fills in c's request once its head, which arrived at the instant
// given, was read: what it does not say is as its class has it.
func (s *Server) complete(c *call, arrived time.Duration) {
	class := &s.cfg.Classes[c.req.Class]
	c.req.Tenant, c.req.Criticality, c.req.Cost = class.Tenant, class.Criticality, class.Cost
	if c.facts.tenant != "" {
		c.req.Tenant = c.facts.tenant
	}
	if c.facts.judged {
		c.req.Criticality = c.facts.criticality
	}
	if c.facts.cost > 0 {
		c.req.Cost = c.facts.cost
	}
	c.req.Arrived, c.req.Deadline = arrived, protection.Never
	if left := c.facts.timeout.Left(); left < protection.Never-arrived {
		c.req.Deadline = arrived + left
	}
}
