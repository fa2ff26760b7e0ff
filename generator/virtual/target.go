package virtual

import (
	"time"

	"knee/target/protection"
	"knee/target/server"
)

// A Target takes the requests in place of a single server: what a
// server.Core can do, with instants and Effects that mean the same.
type Target interface {
	Arrive(now time.Duration, r *protection.Request)
	Advance(now time.Duration)
	Next() time.Duration
	Effects() []server.Effect
	Reset(now time.Duration) error
	Counts() server.Counts
}

// The methods below ask whoever takes the requests. A single server is called
// directly and not as a Target, as the calls are a noticeable part of an arrival.

func (d *Driver) next() time.Duration {
	if d.target != nil {
		return d.target.Next()
	}
	return d.server.Next()
}

func (d *Driver) effects() []server.Effect {
	if d.target != nil {
		return d.target.Effects()
	}
	return d.server.Effects()
}

func (d *Driver) restart() error {
	if d.target != nil {
		return d.target.Reset(d.now)
	}
	return d.server.Reset(d.now)
}

func (d *Driver) counts() server.Counts {
	if d.target != nil {
		return d.target.Counts()
	}
	return d.server.Counts()
}
