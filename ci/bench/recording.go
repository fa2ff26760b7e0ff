package main

import (
	"context"
	"encoding/json"
	"os"
	"testing"
	"time"

	"knee/generator/record"
)

// A recordingCost is what it takes to book one request that is answered well.
type recordingCost struct {
	NS     float64
	Allocs int64
}

// recordingLoop books originals for a second: each is planned, sent and ends 255
// later, with a series behind as in a run. It prints a recordingCost.
func recordingLoop(context.Context, []string) error {
	r := testing.Benchmark(func(b *testing.B) {
		const gap, open = 100 * time.Microsecond, 255 // 10,000/s, answered after 25.5 ms
		series := record.NewSeries([]string{"all"})
		recorder := record.NewRecorder(record.RecorderOptions{
			Classes: []string{"all"}, MaxLatency: 2 * time.Second,
			Sink: func(d *record.Delta) { series.Add(d); d.Release() },
		})
		recorder.Begin(record.StepInfo{Phase: "hold", Duration: time.Hour})
		var now time.Duration
		b.ReportAllocs()
		for b.Loop() {
			now += gap
			recorder.Tick(now)
			recorder.Planned(0, 0, now)
			recorder.Attempt(0, 0, now, now, now, true, false)
			if sent := now - open*gap; sent > 0 {
				recorder.End(&record.Ending{Kind: record.Good, Planned: sent, Sent: sent, Done: now})
			}
		}
	})
	return json.NewEncoder(os.Stdout).Encode(recordingCost{
		NS: float64(r.T.Nanoseconds()) / float64(r.N), Allocs: r.AllocsPerOp(),
	})
}
