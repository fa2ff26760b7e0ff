package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"knee/ci/verdict"
	"knee/profiles"
)

// How many blocks there are: fewer than leastBlocks could not fail anything, for that
// takes so many of one mind.
const (
	usualBlocks = 30
	leastBlocks = 14
	mostBlocks  = 300
)

// pairOptions say which two builds a gate compares.
type pairOptions struct {
	baseline  string   // command
	candidate string   // command
	set       []string // of the built-in server, for the candidate alone
	blocks    count
}

func (p *pairOptions) add(f *pflag.FlagSet) {
	f.Var((*given)(&p.baseline), "baseline-cmd", "`COMMAND` that starts the baseline's server, which then answers at --url")
	f.Var((*given)(&p.candidate), "candidate-cmd", "`COMMAND` that starts the candidate's, at the same URL")
	f.StringArrayVar(&p.set, "candidate-set", nil, "compare the built-in server with itself, the candidate with `PATH=VALUE`, repeatable")
	p.blocks.of = usualBlocks
	f.Var(&p.blocks, "blocks", "of a comparison, at most `N` blocks in which both builds run")
}

// wanted says whether two builds are to be compared.
func (p *pairOptions) wanted() bool { return p.baseline != "" || p.candidate != "" || len(p.set) > 0 }

// check refuses what is not allowed.
func (p *pairOptions) check(o *runOptions) error {
	commands := p.baseline != "" || p.candidate != ""
	switch {
	case !p.wanted() && p.blocks.given:
		return fail(verdict.CodeUsage, "--blocks without a candidate: want --baseline-cmd and --candidate-cmd, or --candidate-set")
	case !p.wanted():
		return nil
	case p.blocks.of < leastBlocks || p.blocks.of > mostBlocks:
		return fail(verdict.CodeUsage, "--blocks %d: want %d to %d: fewer could fail nothing", p.blocks.of, leastBlocks, mostBlocks)
	case commands && len(p.set) > 0:
		return fail(verdict.CodeUsage, "--candidate-set with --baseline-cmd or --candidate-cmd: want the one or the others")
	case commands && (p.baseline == "" || p.candidate == ""):
		return fail(verdict.CodeUsage, "--baseline-cmd and --candidate-cmd: want both, two builds are compared")
	case commands && o.url == "":
		return fail(verdict.CodeUsage, "--baseline-cmd without --url: want the URL at which both commands' servers answer")
	case len(p.set) > 0 && o.remote():
		return fail(verdict.CodeUsage, "--candidate-set with --url: the built-in server can be changed so, another one cannot; want --baseline-cmd and --candidate-cmd")
	}
	for _, assignment := range p.set {
		path, _, _ := strings.Cut(assignment, "=")
		if path != "target" && !strings.HasPrefix(path, "target.") {
			return fail(verdict.CodeUsage, "--candidate-set %s: want a field of target: both builds get the same load", assignment)
		}
	}
	return nil
}

// runPair carries out a gate that compares two builds.
func runPair(ctx context.Context, w *world, o *runOptions, profile string) error {
	refuse := func(err error) error { return errors.Join(err, o.gate.notRun(err)) }
	p := &pairer{}
	if o.pair.baseline != "" {
		c, err := newCommands(o)
		if err != nil {
			return refuse(err)
		}
		// The server has to be there before anything can be found out about it.
		if err := c.start(ctx, false); err != nil {
			return refuse(err)
		}
		p.builds = c
	}
	s, err := open(ctx, w, o, gateVerb, profile, peakOfPair)
	if err != nil {
		return refuse(errors.Join(err, p.close()))
	}
	if err := p.begin(s); err != nil {
		return refuse(errors.Join(err, s.close(), p.close()))
	}
	err = p.run(ctx)
	return s.conclude(ctx, errors.Join(err, p.close()))
}

// peakOfPair returns the highest load of a comparison.
func peakOfPair(p *profiles.Profile) float64 { return slices.Max(probeLoads) * p.Capacity() }
