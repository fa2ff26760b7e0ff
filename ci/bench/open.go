package main

import (
	"context"
	"fmt"
	"path/filepath"
)

// leastRate is the share of the rate asked for below which the timing of what
// came says nothing.
const leastRate = 0.98

// record runs a tool in an open loop against a recording server of its own, and
// returns when the requests came besides.
func (k *kit) record(ctx context.Context, t tool, rate float64) (o observed, j job, at []int64, err error) {
	file := filepath.Join(k.dir, "arrivals")
	s, err := startRecording(k.knee, file, k.servers)
	if err != nil {
		return o, j, nil, err
	}
	if j, err = k.newJob(s, rate); err == nil {
		var c command
		if c, err = t.open(j); err == nil {
			o, err = k.observe(ctx, t, c, j, s)
		}
	}
	if stopped := s.stop(); err == nil && stopped != nil {
		err = fmt.Errorf("the recording server: %w", stopped)
	}
	if err != nil {
		return o, j, nil, err
	}
	at, err = readArrivals(file)
	return o, j, at, err
}

// measureOpen returns the measurement of a tool at a constant rate.
func (k *kit) measureOpen(t tool, rate float64) measurement {
	return measurement{
		row: k.sheet.row(openTable, recordingServer, t.name, rate),
		do: func(ctx context.Context) (map[string]float64, error) {
			o, j, at, err := k.record(ctx, t, rate)
			if err != nil {
				return nil, err
			}
			v := o.values()
			v[achievedPart], v[rateOfAsked] = achieved(at, rate, j.span), rateOf(at)/rate
			if len(at) > 0 {
				v[cpuPer] = o.CPU.Seconds() * 1e6 / float64(len(at))
			}
			if timing, ok := timingOf(at, rate); ok && v[rateOfAsked] >= leastRate {
				v[errorP50], v[errorP99], v[errorP999] = timing.P50, timing.P99, timing.P999
				v[spreadOfAll], v[gapCV] = timing.Spread, timing.CV
			}
			return v, nil
		},
	}
}

// measureAllOpen measures the tools that can hold a rate.
func (k *kit) measureAllOpen(ctx context.Context, tools []tool) error {
	var all []measurement
	for _, rate := range k.rates {
		for _, t := range tools {
			if t.open != nil {
				all = append(all, k.measureOpen(t, rate))
			}
		}
	}
	return k.interleave(ctx, openTable, k.rounds, all)
}
