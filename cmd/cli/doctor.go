package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"knee/analysis"
	"knee/ci/verdict"
	"knee/generator/live"
	"knee/generator/plan"
	"knee/generator/record"
	"knee/profiles"
)

// nullServer is the profile of a server that does nothing, as fast as it can:
// what limits a run against it is the generator, and the machine.
const nullServer = `
name: doctor
target: {workers: 64, service: {kind: constant, mean: 1us}}
client: {timeout: 1s, grace: 1s, clients: 1}
load: {arrivals: poisson, phases: [{kind: hold, rate: 1000, for: 500ms}]}
`

// doctorRates are the loads that doctor offers, in requests per second.
var doctorRates = []float64{1000, 2000, 4000, 8000, 12000, 16000, 24000, 32000}

// A checkup is what doctor found.
type checkup struct {
	Schema      string           `json:"schema"`
	Machine     analysis.Machine `json:"machine"`
	CeilingRPS  float64          `json:"ceiling_rps"` // largest load that was offered honestly
	InFlight    int              `json:"in_flight"`   // attempts that can be open at once
	InFlightBy  string           `json:"in_flight_by"`
	ClockStepNS int64            `json:"clock_step_ns"`
	Loads       []doctorLoad     `json:"loads"`
}

// A doctorLoad is one load against the server that does nothing.
type doctorLoad struct {
	IntendedRPS float64 `json:"intended_rps"`
	AnsweredRPS float64 `json:"answered_rps"`
	LagP50MS    float64 `json:"lag_p50_ms"`
	LagP99MS    float64 `json:"lag_p99_ms"`
	ResponseP99 float64 `json:"response_p99_ms"`
	CPUShare    float64 `json:"cpu_share"`
	Honest      bool    `json:"honest"`
}

func newDoctorCmd(w *world) *cobra.Command {
	o := &runOptions{}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "what this machine can honestly generate",
		Long: `doctor sends more and more to a server that does nothing, and says up to which
rate the load was really offered, how late requests were sent, and how many can
be open at once. The server runs beside the generator, as it does in a run.`,
		Example: "  knee doctor\n  knee doctor --format json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return runDoctor(cmd.Context(), w, o) },
	}
	cmd.Flags().StringVar(&o.format, "format", "text", "text or json")
	o.color = "never"
	return cmd
}

// runDoctor carries out doctor.
func runDoctor(ctx context.Context, w *world, o *runOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	c, err := startChild(ctx, []byte(nullServer), nil)
	if err != nil {
		return fail(verdict.CodeNotStarted, "starting the built-in server: %w", err)
	}
	defer c.Close()
	bound := live.AutoInFlight(1e6, time.Second, time.Second)
	found := checkup{
		Schema: "knee.doctor/v1", Machine: thisMachine(), InFlight: bound.N, InFlightBy: bound.By, ClockStepNS: clockStep().Nanoseconds(),
	}
	for i, rate := range doctorRates {
		load, err := tryRate(ctx, c, rate, i)
		if err != nil {
			return fail(verdict.CodeNotStarted, "%w", err)
		}
		found.Loads = append(found.Loads, load)
		if !load.Honest {
			break
		}
		found.CeilingRPS = rate
	}
	if o.format == "json" {
		e := json.NewEncoder(w.stdout)
		e.SetIndent("", "  ")
		return e.Encode(found)
	}
	found.print(w)
	return nil
}

// doctorLag is the lag p99 above which a load was not offered honestly: a tenth
// of a timeout of 100 ms.
const doctorLag = 10 * time.Millisecond

// tryRate offers one load to the server at c for half a second.
func tryRate(ctx context.Context, c *child, rate float64, seed int) (doctorLoad, error) {
	target, err := live.ParseTarget("http://" + c.Addr + "/")
	if err != nil {
		return doctorLoad{}, err
	}
	p, err := profiles.Load("-", profiles.Overrides{Stdin: strings.NewReader(nullServer)})
	if err != nil {
		return doctorLoad{}, err
	}
	series := record.NewSeries(classNames(p))
	recorder := record.NewRecorder(record.RecorderOptions{
		Classes: classNames(p), MaxLatency: 2 * time.Second,
		Sink: func(d *record.Delta) { series.Add(d); d.Release() },
	})
	population := p.ClientOptions()
	population.MaxInFlight = live.AutoInFlight(rate, time.Second, time.Second).N
	d, err := live.New(live.Options{Target: target, Client: population, Recorder: recorder, Knee: true})
	if err != nil {
		return doctorLoad{}, err
	}
	defer d.Close()
	spec, err := p.Workload()
	if err != nil {
		return doctorLoad{}, err
	}
	spec.Seed = uint64(seed)
	spec.Phases = []plan.Phase{
		{Kind: plan.Hold, Label: analysis.Settle, Rate: rate, For: 100 * time.Millisecond},
		{Kind: plan.Hold, Rate: rate, For: 400 * time.Millisecond},
	}
	pl, err := plan.New(spec)
	if err != nil {
		return doctorLoad{}, err
	}
	if err := d.Run(ctx, 0, pl); err != nil {
		return doctorLoad{}, err
	}
	step := series.Steps()[1]
	stats := d.Stats()
	load := doctorLoad{
		IntendedRPS: rate,
		AnsweredRPS: float64(step.Total.Good) / step.Info.Duration.Seconds(),
		LagP50MS:    ms(step.Lag.P50),
		LagP99MS:    ms(step.Lag.P99),
		ResponseP99: ms(step.Response.P99),
		CPUShare:    stats.CPU.Seconds() / stats.Wall.Seconds(),
	}
	load.Honest = step.Total.Good*100 >= step.Total.Planned*98 && step.Lag.P99 <= doctorLag
	return load, nil
}

func (c *checkup) print(w *world) {
	m := c.Machine
	fmt.Fprintf(w.stdout, "machine     %s/%s, %d CPUs, %s, %s\n", m.OS, m.Arch, m.CPUs, m.CPUModel, m.Go)
	fmt.Fprintf(w.stdout, "in flight   at most %d (%s)\n", c.InFlight, c.InFlightBy)
	fmt.Fprintf(w.stdout, "clock       steps of %d ns\n\n", c.ClockStepNS)
	fmt.Fprintf(w.stdout, "  offered/s  answered/s  lag p50 ms  lag p99 ms  response p99 ms  CPU\n")
	for _, l := range c.Loads {
		mark := ""
		if !l.Honest {
			mark = "  not offered honestly"
		}
		fmt.Fprintf(w.stdout, "  %9.0f  %10.0f  %10.2f  %10.2f  %15.2f  %3.0f%%%s\n",
			l.IntendedRPS, l.AnsweredRPS, l.LagP50MS, l.LagP99MS, l.ResponseP99, 100*l.CPUShare, mark)
	}
	fmt.Fprintf(w.stdout, "\nceiling     ")
	switch {
	case c.CeilingRPS == 0:
		fmt.Fprintf(w.stdout, "below %.0f/s: this machine is too busy to measure with\n", doctorRates[0])
	case c.CeilingRPS == doctorRates[len(doctorRates)-1]:
		fmt.Fprintf(w.stdout, "%.0f/s or more, generator and server together\n", c.CeilingRPS)
	default:
		fmt.Fprintf(w.stdout, "%.0f/s, generator and server together\n", c.CeilingRPS)
	}
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
