package main

import (
	"fmt"
	"io"
)

// A goal is something that knee is to reach.
type goal struct {
	What     string   `json:"what"`
	AtLeast  bool     `json:"at_least"`       // rather than at most
	Must     *float64 `json:"must,omitempty"` // nil: nothing has to be
	Aim      *float64 `json:"aim,omitempty"`  // nil: nothing beyond that
	Measured spread   `json:"measured"`
	Verdict  string   `json:"verdict"` // see judge
}

// judge says what the median of the rounds comes to: "aim met", "met", "missed",
// "aim missed" where there is nothing but an aim, "for comparison" where there is
// neither, or "not measured".
func (g *goal) judge() string {
	reached := func(limit *float64) bool {
		return limit != nil && (g.AtLeast && g.Measured.Median >= *limit || !g.AtLeast && g.Measured.Median <= *limit)
	}
	switch {
	case g.Measured.N == 0:
		return "not measured"
	case g.Must != nil && !reached(g.Must):
		return "missed"
	case reached(g.Aim):
		return "aim met"
	case g.Must == nil && g.Aim == nil:
		return "for comparison"
	case g.Must == nil:
		return "aim missed"
	default:
		return "met"
	}
}

// Rates of the goals, per second.
const (
	usualRate = 10_000
	fullRate  = 50_000 // of one CPU
	beyond    = 80_000
)

// goals returns what knee is to reach, as far as a sheet says whether it does.
func goals(s *sheet) []goal {
	var all []goal
	add := func(what string, atLeast bool, must, aim *float64, measured spread) {
		g := goal{What: what, AtLeast: atLeast, Must: must, Aim: aim, Measured: measured}
		g.Verdict = g.judge()
		all = append(all, g)
	}
	limit := func(v float64) *float64 { return &v }

	server := nginxServer
	if s.find(closedTable, server, kneeName, 0) == nil {
		server = nullServer
	}
	perCPU := func(tool string) map[int]float64 { return s.find(closedTable, server, tool, 0).by(perCPUSecond) }
	to := func(tool string) spread { return over(perCPU(kneeName), perCPU(tool)) }
	const requests = "requests per CPU second, to "
	add(requests+"wrk", true, limit(1), limit(1.1), to(wrk.name))
	add(requests+"vegeta", true, limit(3), nil, to(vegeta.name))
	add(requests+"k6", true, limit(5), nil, to(k6.name))
	add(requests+"bombardier", true, limit(1.1), nil, to(bombardier.name))
	add(requests+"the bare loop", true, nil, limit(0.95), to(bareName))

	usual := s.find(openTable, recordingServer, kneeName, usualRate)
	add("error p50 at 10,000/s, µs", false, limit(50), limit(10), usual.of(errorP50))
	add("error p50 at 10,000/s, to the best peer's", false, limit(0.1), nil, over(usual.by(errorP50), bestPeer(s, errorP50, usualRate)))
	add("error p99 at 10,000/s, µs", false, limit(200), limit(60), usual.of(errorP99))
	add("gap CV at 10,000/s", false, limit(0.6), nil, usual.of(gapCV))
	add("came in time at 50,000/s", true, limit(0.999), nil, s.find(openTable, recordingServer, kneeName, fullRate).of(achievedPart))
	add("came in time at 80,000/s", true, nil, limit(0.999), s.find(openTable, recordingServer, kneeName, beyond).of(achievedPart))
	add("CPU µs per request at 10,000/s", false, limit(70), limit(45), usual.of(cpuPer))
	add("CPU µs per request at 10,000/s, tick 1ms", false, limit(26), limit(18),
		s.find(openTable, recordingServer, kneeName+coarse, usualRate).of(cpuPer))

	poisson := func(rate float64) *row { return s.find(goalsTable, recordingServer, poissonName, rate) }
	add("Poisson, share of blocks of gaps that pass at 10,000/s", true, limit(leastBlocks), nil, poisson(usualRate).of(ksBlocks))
	add("Poisson, share of blocks of gaps that pass at 50,000/s", true, nil, limit(leastBlocks), poisson(fullRate).of(ksBlocks))
	add("Poisson, Kolmogorov–Smirnov distance at 10,000/s", false, nil, nil, poisson(usualRate).of(ksDistance))
	add("Poisson, Kolmogorov–Smirnov distance at 50,000/s", false, nil, nil, poisson(fullRate).of(ksDistance))

	of := func(situation, what string) spread { return s.find(goalsTable, situation, kneeName, 0).of(what) }
	add("memory from 10 s to 60 s at 5,000/s, MB more", false, limit(2), nil, of(growthSituation, growthMB))
	add("memory of an open connection, KB", false, limit(8), nil, of(connsSituation, connKB))
	add("peak memory at 10,000/s and 1,000 connections, MB", false, nil, limit(30), of(slowSituation, peakMB))
	add("recording, ns per request", false, limit(60), limit(30), of(recordingSituation, recordingNS))
	add("recording, allocations per request", false, limit(0), nil, of(recordingSituation, recordingAllocs))
	add("doctor, seconds", false, limit(5), nil, of(doctorSituation, doctorSeconds))
	add("doctor's ceiling, apart from what a run holds", false, limit(0.1), nil, of(doctorSituation, doctorApart))
	return all
}

// bestPeer returns the least of what was measured of the peers at a rate, by
// round.
func bestPeer(s *sheet, what string, rate float64) map[int]float64 {
	best := map[int]float64{}
	for _, t := range peers() {
		for round, v := range s.find(openTable, recordingServer, t.name, rate).by(what) {
			if b, ok := best[round]; !ok || v < b {
				best[round] = v
			}
		}
	}
	return best
}

// printGoals writes the table of goals.
func (r *report) printGoals(w io.Writer) {
	if len(r.Goals) == 0 {
		return
	}
	fmt.Fprintln(w, "\ngoals")
	var t table
	t.line("what", "must", "aim", "measured", "verdict")
	for _, g := range r.Goals {
		t.line(g.What, g.bound(g.Must), g.bound(g.Aim), within(g.Measured, "%.3g"), g.Verdict)
	}
	t.write(w)
}

// bound writes a limit with its direction.
func (g *goal) bound(limit *float64) string {
	if limit == nil {
		return none
	}
	if g.AtLeast {
		return "≥ " + number(*limit)
	}
	return "≤ " + number(*limit)
}
