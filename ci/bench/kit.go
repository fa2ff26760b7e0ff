package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"knee/generator/host"
)

// A kit has what measurements need.
type kit struct {
	options
	knee     string // the program
	self     string // this program
	servers  host.CPUs
	tools    host.CPUs
	all      host.CPUs // that this program was given
	dir      string    // for files
	progress io.Writer
	sheet    sheet
	jobs     int // how many directories there are in dir
}

// place takes the CPUs of the flags, and has this program stay on that of the
// servers, whose work it disturbs least.
func (k *kit) place() (err error) {
	k.servers, k.tools = places(k.serverCPU), places(k.generatorCPU)
	if k.servers == nil && k.tools == nil {
		return nil
	}
	if k.all, err = host.Allowed(); err != nil {
		return err
	}
	if k.servers != nil {
		err = host.Bind(k.servers)
	}
	return err
}

// A measurement is made once in each round.
type measurement struct {
	row *row
	do  func(ctx context.Context) (map[string]float64, error)
}

// interleave makes every measurement once a round, in another order each time, so
// that whatever disturbs the machine for a while disturbs all of them alike. A
// measurement that fails is a fact about the tool, and the others go on.
func (k *kit) interleave(ctx context.Context, what string, rounds int, all []measurement) error {
	random := rand.New(rand.NewPCG(k.seed, uint64(len(all))))
	began := time.Now()
	for round := range rounds {
		for _, i := range random.Perm(len(all)) {
			values, err := all[i].do(ctx)
			if ctx.Err() != nil {
				return context.Cause(ctx)
			}
			all[i].row.add(round, values, err)
		}
		took := time.Since(began)
		left := took / time.Duration(round+1) * time.Duration(rounds-round-1)
		fmt.Fprintf(k.progress, "%s: round %d of %d, %d measurements each; about %v left\n", what, round+1, rounds, len(all), left.Round(time.Second))
	}
	return nil
}

// newJob returns a job with a directory of its own.
func (k *kit) newJob(s *server, rate float64) (job, error) {
	k.jobs++
	dir := filepath.Join(k.dir, fmt.Sprint("job", k.jobs))
	return job{url: s.url, conns: k.conns, rate: rate, span: k.span, dir: dir}, os.Mkdir(dir, 0o700)
}

// observed is what one run of a tool came to.
type observed struct {
	tally
	usage
	wall           time.Duration
	others, stolen time.Duration // CPU time that neither the tool nor the server nor this program used
}

// observe runs a tool on its CPU, and adds up who used the machine meanwhile. The
// files of the job are gone then.
func (k *kit) observe(ctx context.Context, t tool, c command, j job, s *server) (o observed, err error) {
	defer os.RemoveAll(j.dir)
	if c.path == "" {
		c.path = t.path
	}
	known := func() time.Duration { return cpuOf(s.pid()) + cpuOf(os.Getpid()) }
	began, before, knownBefore := time.Now(), busynessNow(), known()
	out, u, failed := run(ctx, c, k.tools, j.span)
	after := busynessNow()
	o.usage, o.wall = u, time.Since(began)
	o.stolen = after.stolen - before.stolen
	o.others = max(after.busy-before.busy-u.CPU-(known()-knownBefore), 0)
	if c.report != nil {
		if failed != nil {
			return o, failed
		}
		if out, _, failed = run(ctx, command{path: c.path, args: c.report}, k.tools, 0); failed != nil {
			return o, failed
		}
	}
	// A tool that is not content with what it measured ends with another code than
	// 0. What counts is whether it says what that was.
	if o.tally, err = t.parse(out); err != nil {
		if failed != nil {
			return o, failed
		}
		return o, fmt.Errorf("%s: what it printed: %w", t.name, err)
	}
	return o, nil
}

// values returns what every run of a tool has.
func (o observed) values() map[string]float64 {
	v := map[string]float64{
		othersCPU: o.others.Seconds() / o.wall.Seconds(),
		stolenCPU: o.stolen.Seconds() / o.wall.Seconds(),
	}
	if o.Peak > 0 {
		v[peakMB] = float64(o.Peak) / 1e6
	}
	if o.Requests > 0 {
		v[failedShare] = float64(o.Failed) / float64(o.Requests)
	}
	return v
}
