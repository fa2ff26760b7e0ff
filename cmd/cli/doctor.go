package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"knee/analysis"
	"knee/ci/verdict"
	"knee/generator/host"
	"knee/generator/live"
	"knee/generator/plan"
)

// doctorLoads are loads whose lag is told, whatever the ceiling is, in requests
// per second.
var doctorLoads = []float64{1000, 10_000}

// doctorSearch is how long after its start doctor begins to try a last load.
const doctorSearch = 3900 * time.Millisecond

// A checkup is what doctor found.
type checkup struct {
	Schema      string           `json:"schema"`
	Machine     analysis.Machine `json:"machine"`
	Engine      live.Engine      `json:"engine"`      // that carried the requests
	CeilingRPS  float64          `json:"ceiling_rps"` // highest load that was offered honestly
	ClosedRPS   float64          `json:"closed_rps"`  // of 64 callers in a closed loop
	InFlight    int              `json:"in_flight"`   // attempts that can be open at once
	InFlightBy  string           `json:"in_flight_by"`
	ClockStepNS int64            `json:"clock_step_ns"`
	Loads       []doctorLoad     `json:"loads"` // ascending
}

// A doctorLoad is one load against the server that does nothing.
type doctorLoad struct {
	IntendedRPS float64  `json:"intended_rps"`
	AnsweredRPS float64  `json:"answered_rps"`
	LagP50MS    float64  `json:"lag_p50_ms"`
	LagP99MS    float64  `json:"lag_p99_ms"`
	ResponseP99 float64  `json:"response_p99_ms"`
	CPUShare    *float64 `json:"cpu_share"`    // of one CPU; null where it is not known
	WaitedShare *float64 `json:"waited_share"` // of the time in which the busiest thread was ready and had no CPU
	Honest      bool     `json:"honest"`
	Why         string   `json:"why"` // it was not honest
}

func newDoctorCmd(w *world) *cobra.Command {
	o := &runOptions{}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "what this machine can honestly generate",
		Long: `doctor offers loads to a server that does nothing, and says up to which rate a
load is really offered (the ceiling), how late requests are sent, and how many
can be open at once. The server runs beside the generator, as the built-in one
does in a run. It takes less than five seconds.`,
		Example: "  knee doctor\n  knee doctor --format json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runDoctor(cmd.Context(), w, o) },
	}
	f := cmd.Flags()
	f.StringVar(&o.format, "format", "text", "`FORMAT`: text or json")
	o.addGenerator(f)
	o.color = "never"
	return cmd
}

// runDoctor carries out doctor.
func runDoctor(ctx context.Context, w *world, o *runOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	found, err := examine(ctx, o, w.now)
	if err != nil {
		if stopped := (*interrupt)(nil); errors.As(err, &stopped) {
			return exit(stopped.code())
		}
		return fail(verdict.CodeNotStarted, "%w", err)
	}
	if o.format == "json" {
		e := json.NewEncoder(w.stdout)
		e.SetIndent("", "  ")
		return e.Encode(found)
	}
	found.print(w)
	return nil
}

// examine measures what this machine can do.
func examine(ctx context.Context, o *runOptions, now func() time.Time) (found *checkup, err error) {
	began := now()
	bound := live.AutoInFlight(plan.MaxRate, time.Second, time.Second, host.Ports())
	found = &checkup{
		Schema: "knee.doctor/v1", Machine: thisMachine(), InFlight: bound.N, InFlightBy: bound.By, ClockStepNS: clockStep().Nanoseconds(),
	}
	p := place(o.pin, 0, 0)
	defer p.release()
	cpus := usable(found.Machine)
	if found.Machine.Placement = p.bound; p.bound != nil {
		cpus = min(cpus, float64(p.generators))
	}
	c, err := startNull(ctx, p.server)
	if err != nil {
		return nil, fmt.Errorf("starting the server that does nothing: %w", err)
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	b, err := newProber(ctx, c.Addr, live.Engine(o.engine), found.Machine, cpus)
	if err != nil {
		return nil, err
	}
	defer b.driver.Close()
	found.Engine = b.driver.Engine()

	if found.Loads, err = b.offer(ctx, lagFor, doctorLoads...); err != nil {
		return nil, err
	}
	if found.ClosedRPS, err = b.closedRate(ctx); err != nil {
		return nil, err
	}
	more := func() bool { return now().Sub(began) < doctorSearch }
	offer := twice(func(rate float64) (doctorLoad, error) {
		loads, err := b.offer(ctx, probeFor, rate)
		if err != nil {
			return doctorLoad{}, err
		}
		found.Loads = append(found.Loads, loads...)
		return loads[0], nil
	}, more)
	if found.CeilingRPS, err = ceiling(ceilingGuess*found.ClosedRPS, offer, more); err != nil {
		return nil, err
	}
	for _, l := range found.Loads {
		if l.Honest {
			found.CeilingRPS = max(found.CeilingRPS, l.IntendedRPS)
		}
	}
	slices.SortStableFunc(found.Loads, func(a, b doctorLoad) int { return cmp.Compare(a.IntendedRPS, b.IntendedRPS) })
	return found, nil
}

func (c *checkup) print(w *world) {
	m := c.Machine
	line := func(name, format string, args ...any) {
		fmt.Fprintf(w.stdout, "%-12s", name)
		fmt.Fprintf(w.stdout, format+"\n", args...)
	}
	line("machine", "%s/%s, %d CPUs, %s, %s", m.OS, m.Arch, m.CPUs, m.CPUModel, m.Go)
	line("CPUs", "%s", cpusLine(m))
	line("engine", "%s", c.Engine)
	line("in flight", "at most %d (%s)", c.InFlight, c.InFlightBy)
	line("descriptors", "%s", limitLine(m.Descriptors, "no limit"))
	line("ports", "%s to one address", limitLine(m.Ports, "unknown"))
	line("clock", "steps of %d ns", c.ClockStepNS)
	fmt.Fprintf(w.stdout, "\n  offered/s  answered/s  lag p50 ms  lag p99 ms  response p99 ms   CPU\n")
	for _, l := range c.Loads {
		cpu := "   -"
		if l.CPUShare != nil {
			cpu = fmt.Sprintf("%3.0f%%", 100**l.CPUShare)
		}
		mark := ""
		if !l.Honest {
			mark = "  " + l.Why
		}
		fmt.Fprintf(w.stdout, "  %9.0f  %10.0f  %10.3f  %10.3f  %15.3f  %s%s\n",
			l.IntendedRPS, l.AnsweredRPS, l.LagP50MS, l.LagP99MS, l.ResponseP99, cpu, mark)
	}
	fmt.Fprintln(w.stdout)
	line("closed loop", "%.0f/s by %d callers", c.ClosedRPS, probeConns)
	if c.CeilingRPS == 0 {
		line("ceiling", "none: this machine is too busy to measure with")
		return
	}
	line("ceiling", "%.0f/s", c.CeilingRPS)
}

// cpusLine says which CPUs there are for whom.
func cpusLine(m analysis.Machine) string {
	s := fmt.Sprintf("%d of %d allowed", m.CPUsAllowed, m.CPUs)
	if m.CPUQuota != nil {
		s += fmt.Sprintf(", the time of %.3g by quota", *m.CPUQuota)
	}
	if m.Placement == nil {
		return s + "; generator and server on all of them"
	}
	return s + fmt.Sprintf("; generator on %s, server on %s", m.Placement.Generator, m.Placement.Server)
}

func limitLine(limit *int, otherwise string) string {
	if limit == nil {
		return otherwise
	}
	return fmt.Sprint(*limit)
}

// clockStep returns the smallest step of the clock that can be seen.
func clockStep() time.Duration {
	least := time.Second
	for range 1000 {
		from := time.Now()
		for {
			if d := time.Since(from); d > 0 {
				least = min(least, d)
				break
			}
		}
	}
	return least
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
