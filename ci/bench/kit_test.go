package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"knee/cmd/cli"
)

// The program starts itself and knee: here both are this test.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if _, ok := parts[os.Args[1]]; ok {
			main()
			return
		}
		if slices.Contains([]string{"run", "serve", "doctor", "closed-loop"}, os.Args[1]) {
			os.Exit(cli.Main())
		}
	}
	os.Exit(m.Run())
}

// Everything is measured once a round, in orders of their own, and what fails
// leaves the others alone.
func TestInterleave(t *testing.T) {
	k := &kit{progress: io.Discard}
	var order []string
	var all []measurement
	for _, name := range []string{"a", "b", "c", "d"} {
		all = append(all, measurement{
			row: k.sheet.row(openTable, "", name, 1),
			do: func(context.Context) (map[string]float64, error) {
				order = append(order, name)
				if name == "b" {
					return nil, errors.New("broken")
				}
				return map[string]float64{gapCV: float64(len(order))}, nil
			},
		})
	}
	const rounds = 20
	if err := k.interleave(t.Context(), "", rounds, all); err != nil {
		t.Fatal(err)
	}
	different := map[string]bool{}
	for round := range slices.Chunk(order, 4) {
		different[strings.Join(round, "")] = true
		if slices.Sort(round); strings.Join(round, "") != "abcd" {
			t.Errorf("a round measured %v: want each once", round)
		}
	}
	if len(order) != 4*rounds || len(different) < 2 {
		t.Errorf("%d measurements in %d orders: want %d in several", len(order), len(different), 4*rounds)
	}
	if r := k.sheet.find(openTable, "", "b", 1); r.of(gapCV).N != 0 || len(r.failures) != rounds || r.failure() != "broken" {
		t.Errorf("what fails has %+v and %d failures: want no values, and %d", r.of(gapCV), len(r.failures), rounds)
	}
	if r := k.sheet.find(openTable, "", "c", 1); r.of(gapCV).N != rounds {
		t.Errorf("what works has %d rounds: want %d", r.of(gapCV).N, rounds)
	}
}

func TestInterleaveStops(t *testing.T) {
	ctx, stop := context.WithCancelCause(t.Context())
	why := errors.New("enough")
	k := &kit{progress: io.Discard}
	n := 0
	err := k.interleave(ctx, "", 5, []measurement{{row: &row{}, do: func(context.Context) (map[string]float64, error) {
		n++
		stop(why)
		return nil, errors.New("killed")
	}}})
	if !errors.Is(err, why) || n != 1 {
		t.Errorf("%v after %d measurements: want the cause, after one", err, n)
	}
}

func TestGoalsAreJudged(t *testing.T) {
	var s sheet
	set := func(tool string, what string, values ...float64) {
		r := s.row(openTable, recordingServer, tool, usualRate)
		for round, v := range values {
			r.add(round, map[string]float64{what: v}, nil)
		}
	}
	set(kneeName, errorP50, 40, 20, 30)
	set(kneeName, errorP99, 50, 60, 70)
	set(kneeName, gapCV, 0.5, 0.7, 0.8)
	set(vegeta.name, errorP50, 320, 500, 4000)
	set(h2load.name, errorP50, 1000, 200, 400)
	requests := s.row(closedTable, nullServer, kneeName, 0)
	requests.add(0, map[string]float64{perCPUSecond: 90}, nil)
	s.row(closedTable, nullServer, wrk.name, 0).add(0, map[string]float64{perCPUSecond: 100}, nil)
	s.row(closedTable, nullServer, bareName, 0).add(0, map[string]float64{perCPUSecond: 100}, nil)
	verdicts := map[string]goal{}
	for _, g := range goals(&s) {
		verdicts[g.What] = g
	}
	for what, want := range map[string]struct {
		median  float64
		verdict string
	}{
		"requests per CPU second, to wrk":           {0.9, "missed"},
		"requests per CPU second, to the bare loop": {0.9, "aim missed"},
		"requests per CPU second, to k6":            {0, "not measured"},
		"error p50 at 10,000/s, µs":                 {30, "met"},
		"error p50 at 10,000/s, to the best peer's": {0.1, "met"}, // of 0.125, 0.1, 0.075
		"error p99 at 10,000/s, µs":                 {60, "aim met"},
		"gap CV at 10,000/s":                        {0.7, "missed"},
		"memory of an open connection, KB":          {0, "not measured"},
	} {
		g, ok := verdicts[what]
		if !ok || !near(g.Measured.Median, want.median, 1e-9) || g.Verdict != want.verdict {
			t.Errorf("%s: %v, %q: want %v, %q", what, g.Measured.Median, g.Verdict, want.median, want.verdict)
		}
	}
}

func TestProcFiles(t *testing.T) {
	got := parseBusyness("cpu  100 20 300 4000 50 6 7 80 0 0")
	if want := (busyness{busy: 4330 * time.Millisecond, stolen: 800 * time.Millisecond}); got != want {
		t.Errorf("%+v: want %+v", got, want)
	}
	if got := parseBusyness("intr 1 2 3 4 5 6 7 8 9"); got != (busyness{}) {
		t.Errorf("of another line: %+v", got)
	}
	status := []byte("Name:\tVmRSS: 7 kB\nVmHWM:\t    5356 kB\nVmRSS:\t    5000 kB\n")
	if now, peak := statusKB(status, "VmRSS:"), statusKB(status, "VmHWM:"); now != 5000 || peak != 5356 {
		t.Errorf("%d and %d kB: want 5000 and 5356", now, peak)
	}
}

func TestMemoryBetweenInstants(t *testing.T) {
	u := usage{Memory: []resident{{At: 1, Bytes: 100}, {At: 2, Bytes: 3}, {At: 3, Bytes: 1}, {At: 4, Bytes: 2}, {At: 5, Bytes: 100}}}
	if got := u.residentAt(2, 4); got != 2 {
		t.Errorf("%v: want the median of 3, 1 and 2", got)
	}
	if got := u.residentAt(6, 9); got != 0 {
		t.Errorf("%v of no samples: want 0", got)
	}
}

func TestOptions(t *testing.T) {
	for args, want := range map[string]string{
		"-rates 5000,x":    "want rates from 1 to 1000000",
		"-tables a":        "want some of closed, open, goals",
		"-engines spdy":    "want some of [auto",
		"-rounds 0":        "want 1 to 100",
		"-for 1500ms":      "in whole seconds",
		"-conns 0":         "want 1 to 10000",
		"-format xml":      "want text or json",
		"-server-cpu 9999": "CPU 9999: want one of ",
		"extra":            "there are flags only",
	} {
		var stderr bytes.Buffer
		if err := start(t.Context(), strings.Fields(args), io.Discard, &stderr); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v: want %q", args, err, want)
		}
	}
}

func TestNginxAnswers(t *testing.T) {
	path := findNginx()
	if path == "" {
		t.Skip("nginx is not here")
	}
	s, err := startNginx(t.Context(), path, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := http.Get(s.url)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Body.Close()
	if body, err := io.ReadAll(r.Body); err != nil || r.StatusCode != http.StatusOK || string(body) != "ok" {
		t.Errorf("%s %q, %v: want 200 and ok", r.Status, body, err)
	}
	if err := s.stop(); err != nil {
		t.Errorf("stopping: %v", err)
	}
}

func TestSlowServer(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	s, err := startSlow(self, 50*time.Millisecond, nil)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	r, err := http.Get(s.url)
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if took := time.Since(began); r.StatusCode != http.StatusOK || took < 50*time.Millisecond {
		t.Errorf("%s after %v: want 200, not before 50ms", r.Status, took)
	}
	if err := s.stop(); err != nil {
		t.Errorf("stopping: %v", err)
	}
}

func TestHelp(t *testing.T) {
	var help bytes.Buffer
	if err := start(t.Context(), []string{"-h"}, io.Discard, &help); !errors.Is(err, flag.ErrHelp) || !strings.Contains(help.String(), "-rounds") {
		t.Errorf("%v, %q: want the flags", err, help.String())
	}
}

// The whole kit with what is here: knee, and the first peer that is on PATH.
func TestKit(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes some seconds")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	found, absent, err := present(nil)
	if err != nil {
		t.Fatal(err)
	}
	args := []string{
		"-tables", "closed,open", "-rounds", "1", "-for", "1s", "-rates", "200", "-conns", "4",
		"-server-cpu", "-1", "-generator-cpu", "-1", "-knee", self, "-nginx", "", "-format", "json",
	}
	peer := absent[:min(1, len(absent))]
	if len(found) > 0 {
		peer = namesOf(found[:1])
	}
	t.Logf("with %v; skipped, as they are not on PATH: %v", peer, absent)
	var out, stderr bytes.Buffer
	if err := start(t.Context(), append(args, "-peers", peer[0]), &out, &stderr); err != nil {
		t.Fatalf("%v\n%s", err, stderr.String())
	}
	var got struct {
		Rows []struct {
			Table, Tool, Why string
			Measured         map[string]spread
		}
	}
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}
	tables := map[string]int{}
	for _, r := range got.Rows {
		tables[r.Table]++
		what := map[string]string{closedTable: perCPUSecond, openTable: cpuPer}[r.Table]
		if r.Why != "" || r.Measured[what].Median <= 0 {
			t.Errorf("%s, %s: %s is %v; failed with %q", r.Table, r.Tool, what, r.Measured[what], r.Why)
		}
		if part := r.Measured[achievedPart]; r.Table == openTable && !(part.Median > 0 && part.Median <= 1.5) {
			t.Errorf("%s: achieved %v of what was asked for", r.Tool, part)
		}
	}
	if tables[closedTable] == 0 || tables[openTable] < 2 {
		t.Errorf("rows by table: %v: want knee in both, and twice in the open loop", tables)
	}
}

func TestReportAsText(t *testing.T) {
	var s sheet
	for round, v := range []float64{70_000, 80_000, 75_000} {
		s.row(closedTable, nullServer, wrk.name, 0).add(round, map[string]float64{perCPUSecond: v, peakMB: 5}, nil)
		s.row(closedTable, nullServer, kneeName, 0).add(round, map[string]float64{perCPUSecond: 2 * v, othersCPU: 0.25}, nil)
	}
	s.row(openTable, recordingServer, k6.name, usualRate).add(0, nil, errors.New("no such file"))
	r := report{Rows: s.rows, Absent: []string{"oha"}, Disturbed: disturbed(s.rows), Goals: goals(&s)[:1]}
	var out strings.Builder
	if err := r.print(&options{}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"tool  requests per CPU second         knee to it  requests/s  peak MB  failed\n" +
			"knee  150000 [140000..160000]  1.00 [1.00..1.00]           -        -       -\n" +
			"wrk      75000 [70000..80000]  2.00 [2.00..2.00]           -        5       -\n",
		"requests per CPU second, to wrk   ≥ 1  ≥ 1.1  2 [2..2]  aim met\n",
		"disturbed: others used 25% [25..25] of a CPU, - of one was stolen\n",
		"open loop, k6 at 10000/s: 1 rounds failed, the first with: no such file\n",
		"not here: oha\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the report lacks\n%s\nit is\n%s", want, out.String())
		}
	}
}
