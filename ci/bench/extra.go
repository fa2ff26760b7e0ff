package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"time"

	"knee/analysis"
	"knee/generator/live"
	"knee/generator/plan"
)

// What is measured for the goals alone.
const (
	ksBlocks        = "ks_blocks_passed"
	ksDistance      = "ks_distance"
	growthMB        = "rss_growth_mb"
	connKB          = "connection_kb"
	recordingNS     = "recording_ns"
	recordingAllocs = "recording_allocs"
	doctorSeconds   = "doctor_s"
	doctorApart     = "doctor_apart"
	doctorCeiling   = "doctor_ceiling_rps"
	heldRPS         = "held_rps"
)

// Situations of the goals, in the place of a server.
const (
	growthSituation    = "a minute at 5,000/s"
	connsSituation     = "2,000 connections more"
	slowSituation      = "10,000/s answered after 100ms"
	recordingSituation = "recording"
	doctorSituation    = "doctor"
)

// poissonName is knee where its arrivals are those of many users.
const poissonName = kneeName + ", poisson"

// measureGoals measures what the other tables leave open.
func (k *kit) measureGoals(ctx context.Context) error {
	constant := variant{label: kneeName}.tool(k.knee)
	null, err := startNull(k.knee, k.servers)
	if err != nil {
		return err
	}
	defer null.stop()
	slow, err := startSlow(k.self, slowAnswer, k.servers)
	if err != nil {
		return err
	}
	defer slow.stop()
	all := []measurement{
		k.measureOpen(constant, beyond),
		k.measurePoisson(usualRate),
		k.measurePoisson(fullRate),
		k.measureConns(null),
		k.measureSlow(constant, slow),
		k.measureRecording(),
		k.measureDoctor(constant, null),
	}
	if k.long {
		all = append(all, k.measureGrowth(constant, null))
	}
	return k.interleave(ctx, goalsTable, k.rounds, all)
}

// situation returns the row of one of the situations.
func (k *kit) situation(name string) *row { return k.sheet.row(goalsTable, name, kneeName, 0) }

// What a Poisson process is judged by: blocks of gaps between arrivals, each
// compared with the exponential distribution of the rate that was asked for. One
// thread sends one request after the other, so that no gap is shorter than what
// that takes, some 10 µs: in long rows of gaps this alone shows, and every
// generator fails. The block is as long as shows what is wrong by more than about
// a quarter of the mean gap, such as requests that come in ticks. Of blocks of a
// process that is exact 99 in 100 pass.
const (
	block       = 50   // gaps
	significant = 0.01 // probability below which a block fails
	leastBlocks = 0.95 // share of them that has to pass
)

// measurePoisson returns the measurement of Poisson arrivals.
func (k *kit) measurePoisson(rate float64) measurement {
	t := variant{label: poissonName, arrivals: plan.Poisson.String()}.tool(k.knee)
	return measurement{
		row: k.sheet.row(goalsTable, recordingServer, poissonName, rate),
		do: func(ctx context.Context) (map[string]float64, error) {
			o, _, at, err := k.record(ctx, t, rate)
			if err != nil {
				return nil, err
			}
			gaps := gapsOf(at[int(settling*float64(len(at))):])
			if len(gaps) < block {
				return nil, fmt.Errorf("%d arrivals: want more than %d", len(at), block)
			}
			v := o.values()
			v[ksBlocks], v[ksDistance] = exponentialBlocks(gaps, rate), exponentialDistance(gaps, rate)
			return v, nil
		},
	}
}

// exponentialBlocks returns the share of the blocks of gaps that pass for
// exponential ones. There has to be one block at least.
func exponentialBlocks(gaps []float64, rate float64) float64 {
	passed, n := 0, len(gaps)/block
	for i := range n {
		if kolmogorov(exponentialDistance(gaps[i*block:(i+1)*block], rate), block) >= significant {
			passed++
		}
	}
	return float64(passed) / float64(n)
}

// moreConns is how many connections are opened to see what one takes.
const moreConns = 2000

// measureConns returns the measurement of what a connection takes: the peak of a
// closed loop over many connections, less that of one over few.
func (k *kit) measureConns(s *server) measurement {
	t := closedTool(kneeName, k.knee, live.Engine(k.engines[0]))
	peak := func(ctx context.Context, conns int) (float64, error) {
		j, err := k.newJob(s, 0)
		if err != nil {
			return 0, err
		}
		j.conns = conns
		c, err := t.closed(j)
		if err != nil {
			return 0, err
		}
		o, err := k.observe(ctx, t, c, j, s)
		return float64(o.Peak), err
	}
	return measurement{
		row: k.situation(connsSituation),
		do: func(ctx context.Context) (map[string]float64, error) {
			few, err := peak(ctx, k.conns)
			if err != nil {
				return nil, err
			}
			many, err := peak(ctx, k.conns+moreConns)
			if err != nil || few == 0 {
				return nil, err
			}
			return map[string]float64{connKB: (many - few) / moreConns / 1000}, nil
		},
	}
}

// slowAnswer is how long the slow server takes: at the usual rate a thousand
// connections are in use.
const slowAnswer = 100 * time.Millisecond

// measureSlow returns the measurement of a run on many connections.
func (k *kit) measureSlow(t tool, s *server) measurement {
	return measurement{
		row: k.situation(slowSituation),
		do: func(ctx context.Context) (map[string]float64, error) {
			o, err := k.offer(ctx, t, s, usualRate, k.span)
			return o.values(), err
		},
	}
}

// offer runs a tool in an open loop against a server that runs.
func (k *kit) offer(ctx context.Context, t tool, s *server, rate float64, span time.Duration) (observed, error) {
	j, err := k.newJob(s, rate)
	if err != nil {
		return observed{}, err
	}
	j.span = span
	c, err := t.open(j)
	if err != nil {
		return observed{}, err
	}
	return k.observe(ctx, t, c, j, s)
}

// When growth is looked at, after the start of a run.
const (
	growthRate = 5000
	growthFrom = 10 * time.Second
	growthTo   = 60 * time.Second
	around     = time.Second // before the instant: the median of that time counts
)

// measureGrowth returns the measurement of how memory grows.
func (k *kit) measureGrowth(t tool, s *server) measurement {
	return measurement{
		row: k.situation(growthSituation),
		do: func(ctx context.Context) (map[string]float64, error) {
			o, err := k.offer(ctx, t, s, growthRate, growthTo)
			if err != nil {
				return nil, err
			}
			v := o.values()
			from, to := o.residentAt(growthFrom-around, growthFrom), o.residentAt(growthTo-around, growthTo)
			if from > 0 && to > 0 {
				v[growthMB] = (to - from) / 1e6
			}
			return v, nil
		},
	}
}

// measureRecording returns the measurement of what booking a request takes.
func (k *kit) measureRecording() measurement {
	return measurement{
		row: k.situation(recordingSituation),
		do: func(ctx context.Context) (map[string]float64, error) {
			out, _, err := run(ctx, command{path: k.self, args: []string{"recording"}}, k.tools, time.Second)
			if err != nil {
				return nil, err
			}
			var cost recordingCost
			if err := json.Unmarshal(out, &cost); err != nil {
				return nil, err
			}
			return map[string]float64{recordingNS: cost.NS, recordingAllocs: float64(cost.Allocs)}, nil
		},
	}
}

// steps are the loads of runs that are compared with the ceiling that doctor
// found, as multiples of it.
var steps = []float64{0.5, 0.6, 0.7, 0.8, 0.9, 1, 1.1, 1.2, 1.35, 1.5, 2}

// measureDoctor returns the measurement of doctor: how long it takes, and how far
// its ceiling is from the largest of the steps that a run held, one second each.
func (k *kit) measureDoctor(t tool, s *server) measurement {
	return measurement{
		row: k.situation(doctorSituation),
		do: func(ctx context.Context) (map[string]float64, error) {
			began := time.Now()
			out, _, err := run(ctx, command{path: k.knee, args: []string{"doctor", "--format", "json"}}, k.all, 0)
			took := time.Since(began)
			var found struct {
				Ceiling float64 `json:"ceiling_rps"`
			}
			if bad := json.Unmarshal(out, &found); bad != nil {
				return nil, fmt.Errorf("doctor: %w (%w)", bad, err)
			}
			v := map[string]float64{doctorSeconds: took.Seconds(), doctorCeiling: found.Ceiling}
			if found.Ceiling == 0 {
				return v, nil
			}
			held := 0.0
			for _, step := range steps {
				ok, err := k.holds(ctx, t, s, step*found.Ceiling)
				if err != nil {
					return nil, err
				}
				if !ok {
					break
				}
				held = step * found.Ceiling
			}
			v[heldRPS] = held
			if held > 0 {
				v[doctorApart] = math.Abs(found.Ceiling/held - 1)
			}
			return v, nil
		},
	}
}

// holds says whether a run of a second was offered honestly, as it says itself.
func (k *kit) holds(ctx context.Context, t tool, s *server, rate float64) (bool, error) {
	j, err := k.newJob(s, math.Min(math.Round(rate), plan.MaxRate))
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(j.dir)
	j.span = time.Second
	c, err := t.open(j)
	if err != nil {
		return false, err
	}
	c.path = t.path
	out, _, failed := run(ctx, c, k.tools, j.span)
	var r analysis.Result
	if err := json.Unmarshal(out, &r); err != nil {
		return false, fmt.Errorf("a run at %s/s: %w (%w)", number(j.rate), err, failed)
	}
	return r.Generator.Verdict != "limited" && len(r.Steps) > 0 && r.Steps[0].Counts.Good >= uint64(leastRate*float64(r.Steps[0].Counts.Planned)), nil
}
