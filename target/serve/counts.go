package serve

import (
	"time"

	"knee/target/server"
)

// Counts is what a server says about itself: totals since it started (a reset
// does not touch them) and its present state.
type Counts struct {
	Arrived  uint64            `json:"arrived"`
	Served   uint64            `json:"served"`
	Degraded uint64            `json:"degraded"` // among served
	Failed   uint64            `json:"failed"`
	FailedBy map[string]uint64 `json:"failed_by"` // among failed, by reason
	Refused  map[string]uint64 `json:"refused"`   // by reason, at arrival
	Dropped  map[string]uint64 `json:"dropped"`   // by reason, from the queue
	Resets   uint64            `json:"resets"`    // requests inside when the server was reset
	Peak     int               `json:"peak"`      // most requests that ever waited at once

	Classes map[string]Share `json:"classes"`
	Tenants map[string]Share `json:"tenants"`

	Waiting  int     `json:"waiting"`
	Running  int     `json:"running"`
	Admitted int     `json:"admitted"` // waiting, running, or still being read
	Workers  int     `json:"workers"`
	OldestMs float64 `json:"oldest_ms"` // age of the oldest request in the queue
	CostRate float64 `json:"cost_rate"` // cost per second with all workers busy, measured
	DebtMs   float64 `json:"debt_ms"`   // work that rejections have cost and no worker has begun to pay
	Limit    int     `json:"limit"`     // lowest limit on the requests inside that a protection sets now; 0 when none does

	Faults []string `json:"faults"` // kinds of those that are in the server now, in the order of their numbers

	BadHeaders uint64  `json:"bad_headers"` // header values that were ignored because they could not be read
	Prepared   uint64  `json:"prepared"`    // bodies decoded, authenticated and logged
	BadBodies  uint64  `json:"bad_bodies"`  // among prepared: not JSON, or the signature is wrong
	WorkedMs   float64 `json:"worked_ms"`   // of workers that sleep: for requests and for rejections
	ShedAt     Stage   `json:"shed_at"`
	UptimeMs   float64 `json:"uptime_ms"`
}

// Counts lets time pass until now and returns the counts and the state.
func (s *Server) Counts() Counts {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.now()
	s.core.Advance(now)
	s.carry(now)
	n, g := s.core.Counts(), s.core.Gauges(now)
	return Counts{
		Arrived: n.Arrived, Served: n.Served, Degraded: n.Degraded, Failed: n.Failed,
		FailedBy: n.FailedBy, Refused: n.Refused, Dropped: n.Dropped, Resets: n.Resets, Peak: n.Peak,
		Classes: s.tally.byClass(), Tenants: s.tally.byTenant(),
		Waiting: g.Waiting, Running: g.Running, Admitted: g.Admitted, Workers: g.Workers,
		OldestMs: millis(g.OldestAge), CostRate: g.CostRate, DebtMs: millis(g.Debt), Limit: g.Limit,
		Faults:     s.present(),
		BadHeaders: s.tally.badHeaders, Prepared: s.prepared.Load(), BadBodies: s.badBodies.Load(),
		WorkedMs: millis(n.Worked), ShedAt: s.cfg.ShedAt, UptimeMs: millis(now),
	}
}

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// Core returns the totals that the core keeps.
func (n Counts) Core() server.Counts {
	return server.Counts{
		Arrived: n.Arrived, Served: n.Served, Degraded: n.Degraded, Failed: n.Failed,
		FailedBy: n.FailedBy, Refused: n.Refused, Dropped: n.Dropped, Resets: n.Resets, Peak: n.Peak,
		Worked: time.Duration(n.WorkedMs * float64(time.Millisecond)),
	}
}
