package cli

import (
	"bytes"
	"context"
	"strings"

	"knee/ci/verdict"
	"knee/generator/virtual"
	"knee/profiles"
)

// ownBuilds are the built-in server as two profiles have it.
type ownBuilds struct {
	s         *session
	candidate *profiles.Profile
}

func newOwnBuilds(s *session) (*ownBuilds, error) {
	candidate, err := profiles.Load("-", profiles.Overrides{Set: s.o.pair.set, Virtual: s.o.virtual, Stdin: bytes.NewReader(s.profile.YAML())})
	if err != nil {
		return nil, fail(verdict.CodeUsage, "--candidate-set: %w", err)
	}
	return &ownBuilds{s: s, candidate: candidate}, nil
}

func (b *ownBuilds) turn(ctx context.Context, candidate bool) error {
	p := b.s.profile
	if candidate {
		p = b.candidate
	}
	b.s.serving = p // what work its requests are
	d, ok := b.s.driver.(*virtual.Driver)
	if !ok {
		return b.s.renew(ctx, p)
	}
	spec, err := p.Server()
	if err == nil {
		err = d.Turn(spec)
	}
	if err != nil {
		return fail(verdict.CodeUsage, "%w", err)
	}
	return nil
}

func (b *ownBuilds) names() (baseline, candidate string) {
	return "profile " + b.s.profile.Name, "with " + strings.Join(b.s.o.pair.set, " and ")
}

func (b *ownBuilds) close() error { return nil }
