// Command worlds measures whether live runs and virtual ones agree: the same
// protections under the same loads, side by side.
//
//	go run ./ci/worlds
//
// It takes half a minute for each protection, and wants a machine that has
// nothing else to do. It ends with 1 when a difference is larger than allowed.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"knee/analysis"
)

// protections are compared unless others are named: ten that decide by
// different signals.
const protections = "queue_bound:count=20 deadline codel:variant=folly limit:limit=25 rate:rate=450 aimd gradient2 pid criticality brownout"

// profile is the default server under three loads, one after another.
const profile = `
name: worlds
target:
  workers: 10
  service: {kind: lognormal, mean: 20ms, cv: 1}
client: {timeout: 200ms, clients: 200}
load:
  phases:
    - {kind: hold, rate: 0.5x, for: %[1]v}
    - {kind: hold, rate: 1.2x, for: %[1]v}
    - {kind: hold, rate: 3x, for: %[1]v}
`

func main() {
	hold := flag.Duration("for", 10*time.Second, "how long each load is held")
	chains := flag.String("protect", protections, "chains of protections, separated by spaces")
	flag.Parse()
	if err := run(*hold, strings.Fields(*chains)); err != nil {
		fmt.Fprintf(os.Stderr, "worlds: %v\n", err)
		os.Exit(1)
	}
}

// run compares the worlds under each chain and prints a line for each load.
func run(hold time.Duration, chains []string) error {
	dir, err := os.MkdirTemp("", "worlds")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	knee, file := filepath.Join(dir, "knee"), filepath.Join(dir, "worlds.yaml")
	if err := os.WriteFile(file, fmt.Appendf(nil, profile, hold), 0o600); err != nil {
		return err
	}
	if out, err := exec.Command("go", "build", "-o", knee, "./cmd/knee").CombinedOutput(); err != nil {
		return fmt.Errorf("building knee: %w\n%s", err, out)
	}
	fmt.Printf("%-24s %6s %18s %18s %18s\n", "protections", "load", "goodput/s", "rejected", "p99 of good ms")
	apart := 0
	for _, chain := range chains {
		live, err := measure(knee, file, chain, "--quiet")
		if err != nil {
			return err
		}
		virtual, err := measure(knee, file, chain, "--virtual")
		if err != nil {
			return err
		}
		for i := range live {
			d := difference{live[i], virtual[i]}
			fmt.Printf("%-24s %5.1fx %s\n", chain, *live[i].LoadX, d)
			if !d.allowed() {
				apart++
			}
		}
	}
	if apart > 0 {
		return fmt.Errorf("%d loads differ by more than %.0f%% of goodput, %.0f points of rejections or %.0f%% of the p99", apart, 100*goodputApart, 100*rejectedApart, 100*p99Apart)
	}
	return nil
}

// attempts is how often a run is made until its load was offered punctually.
const attempts = 3

// measure returns the steps of one run whose load was really offered.
func measure(knee, file, chain string, flags ...string) (steps []analysis.Step, err error) {
	for range attempts {
		if steps, err = try(knee, file, chain, flags...); err == nil {
			break
		}
	}
	return steps, err
}

func try(knee, file, chain string, flags ...string) ([]analysis.Step, error) {
	cmd := exec.Command(knee, append([]string{"run", file, "--protect", chain, "--format", "json"}, flags...)...)
	var out, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &stderr
	// A run without checks whose load could not be offered ends inconclusive: its
	// steps say so.
	if err := cmd.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) {
		return nil, err
	}
	var r analysis.Result
	if err := json.Unmarshal(out.Bytes(), &r); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", chain, err, stderr.String())
	}
	for _, s := range r.Steps {
		if !s.Valid {
			return nil, fmt.Errorf("%s at %.0f/s: %s", chain, s.IntendedRPS, s.Why)
		}
	}
	return r.Steps, nil
}

// How far apart the worlds may be.
const (
	goodputApart  = 0.05 // of the virtual goodput
	rejectedApart = 0.03 // of the arrivals
	p99Apart      = 0.15 // of the virtual p99
)

// A difference is one load in both worlds.
type difference struct{ live, virtual analysis.Step }

func (d difference) goodput() float64 { return relative(d.live.GoodputRPS, d.virtual.GoodputRPS) }

func (d difference) rejected() float64 {
	return rejectedShare(d.live) - rejectedShare(d.virtual)
}

func (d difference) p99() float64 {
	if d.live.ResponseMS.P99 == nil || d.virtual.ResponseMS.P99 == nil {
		return 0 // too few good answers for a p99: goodput says so
	}
	return relative(*d.live.ResponseMS.P99, *d.virtual.ResponseMS.P99)
}

func (d difference) allowed() bool {
	return abs(d.goodput()) <= goodputApart && abs(d.rejected()) <= rejectedApart && abs(d.p99()) <= p99Apart
}

func (d difference) String() string {
	verdict := "ok"
	if !d.allowed() {
		verdict = "APART"
	}
	return fmt.Sprintf("%6.1f %6.1f %s %5.1f%% %5.1f%% %s %6.1f %6.1f %s  %s",
		d.live.GoodputRPS, d.virtual.GoodputRPS, signed(d.goodput()),
		100*rejectedShare(d.live), 100*rejectedShare(d.virtual), signed(d.rejected()),
		value(d.live.ResponseMS.P99), value(d.virtual.ResponseMS.P99), signed(d.p99()), verdict)
}

func rejectedShare(s analysis.Step) float64 {
	return float64(s.Counts.Rejected) / float64(s.Counts.Planned)
}

// relative is how much larger got is than want, as a share of want.
func relative(got, want float64) float64 {
	if want == 0 {
		if got == 0 {
			return 0
		}
		return 1
	}
	return got/want - 1
}

func signed(share float64) string { return fmt.Sprintf("%+5.1f%%", 100*share) }

func value(v *float64) float64 {
	if v == nil {
		return 0
	}
	return *v
}

func abs(v float64) float64 { return max(v, -v) }
