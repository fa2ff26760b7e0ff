package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"knee/analysis"
	"knee/ci/report"
	"knee/ci/verdict"
	"knee/generator/record"
	"knee/profiles"
)

func newReportCmd(w *world) *cobra.Command {
	o := &runOptions{}
	cmd := &cobra.Command{
		Use:   "report DIR…",
		Short: "print the report of a run from its folder",
		Long: `report prints the result of a run that was kept with --out. Where the run was
killed before it had a result, report makes it from the records: everything but
the last window is there, and requests that were open are unfinished.`,
		Example: `  knee report run1
  knee report --format json run1
  knee report --format junit run1`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return runReport(w, o, args) },
	}
	o.addOutput(cmd.Flags())
	cmd.Flags().Lookup("format").Usage = "`FORMAT` of the result: " + strings.Join(report.Formats(), ", ")
	return cmd
}

// runReport carries out report.
func runReport(w *world, o *runOptions, dirs []string) error {
	as := o.format
	if !slices.Contains(report.Formats(), as) {
		return fail(verdict.CodeUsage, "--format %s: want one of %s", as, strings.Join(report.Formats(), ", "))
	}
	o.format = "text" // the rest is as for every verb
	if err := o.check(); err != nil {
		return err
	}
	for _, dir := range dirs {
		kept, err := record.Open(dir)
		if err != nil {
			return fail(verdict.CodeUsage, "%w", err)
		}
		r, err := resultOf(kept)
		if err != nil {
			return fail(verdict.CodeUsage, "%s: %w", dir, err)
		}
		if err := report.Write(w.stdout, as, r, w.reportOptions(o)); err != nil {
			return fail(verdict.CodeInternal, "%w", err)
		}
	}
	return nil
}

// resultOf returns the result of a kept run: its own, or one made from its
// records.
func resultOf(kept *record.Run) (*analysis.Result, error) {
	if kept.Result != nil {
		r := &analysis.Result{}
		if err := json.Unmarshal(kept.Result, r); err != nil {
			return nil, fmt.Errorf("run.json: %w", err)
		}
		if r.Schema != analysis.Schema {
			return nil, fmt.Errorf("run.json: schema is %q: want %s", r.Schema, analysis.Schema)
		}
		return r, nil
	}
	meta, err := keptMeta(kept.Events)
	if err != nil {
		return nil, err
	}
	if meta.Readings, err = keptReadings(kept.Events); err != nil {
		return nil, err
	}
	if meta.Gauges, err = keptGauges(kept.Events); err != nil {
		return nil, err
	}
	meta.Warnings = slices.Concat(meta.Warnings, []string{"the run was killed: this was made from its records"}, kept.Warnings)
	meta.Stopped, meta.Faults = true, keptFaults(kept.Events)
	if steps := kept.Series.Steps(); len(steps) > 0 && meta.Run.DurationS == 0 {
		last := steps[len(steps)-1].Info
		meta.Run.DurationS = (last.Start + last.Duration).Seconds()
	}
	r := analysis.Analyze(kept.Series, meta)
	p, err := profiles.Load("-", profiles.Overrides{URL: true, Stdin: bytes.NewReader(kept.Profile)})
	if err != nil {
		r.Warnings = append(r.Warnings, fmt.Sprintf("the checks were not judged: %v", err))
		return r, nil
	}
	r.Checks = verdict.Judge(p.Checks, r)
	r.Verdict = verdict.Overall(r, questionOf(meta.Run.Command))
	return r, nil
}

// keptMeta returns the last that was kept of what is known of the run.
func keptMeta(events []record.Event) (analysis.Meta, error) {
	var meta analysis.Meta
	for _, e := range slices.Backward(events) {
		if e.Kind != metaEvent {
			continue
		}
		if err := json.Unmarshal([]byte(e.Text), &meta); err != nil {
			return meta, fmt.Errorf("events.jsonl: what is known of the run: %w", err)
		}
		return meta, nil
	}
	return meta, fmt.Errorf("events.jsonl: nothing is known of the run: it was killed as it began")
}
