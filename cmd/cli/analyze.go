package cli

import (
	"io"
	"os"

	"github.com/spf13/cobra"

	"knee/analysis"
	"knee/ci/report"
	"knee/ci/verdict"
)

func newAnalyzeCmd(w *world) *cobra.Command {
	o := &runOptions{}
	cmd := &cobra.Command{
		Use:   "analyze FILE",
		Short: "judge a curve measured by any tool",
		Long: `analyze reads a goodput curve, finds its knee and judges its plateau. FILE is JSON,
[{"offered":…,"goodput":…}], each row also with "intended" (what was asked for)
and "p99_ms" if they are known; or CSV with these names as its header; - is
stdin. Rates may be in any unit, the same in all rows.`,
		Example: `  knee analyze curve.json
  knee analyze --format json curve.csv
  vegeta-to-csv | knee analyze -`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return runAnalyze(w, o, args[0]) },
	}
	o.addOutput(cmd.Flags())
	return cmd
}

// runAnalyze carries out analyze.
func runAnalyze(w *world, o *runOptions, name string) error {
	if err := o.check(); err != nil {
		return err
	}
	in := w.stdin
	if name == "-" {
		name = "stdin"
	} else {
		f, err := os.Open(name)
		if err != nil {
			return fail(verdict.CodeUsage, "%w", err)
		}
		defer f.Close()
		if i, err := f.Stat(); err == nil && i.IsDir() {
			return fail(verdict.CodeUsage, "%s: is a directory: want a file with a curve", name)
		}
		in = io.Reader(f)
	}
	points, err := readCurve(in, name)
	if err != nil {
		return fail(verdict.CodeUsage, "%w", err)
	}
	curve := analysis.Curve(points)
	if o.format == "json" {
		err = report.CurveJSON(w.stdout, curve)
	} else {
		err = report.CurveText(w.stdout, curve, points, report.Options{Width: w.width(), Color: w.inColour(o.color)})
	}
	if err != nil {
		return fail(verdict.CodeInternal, "%w", err)
	}
	return exit(verdict.Code(verdict.Overall(&analysis.Result{Knee: curve.Knee, Plateau: curve.Plateau}, verdict.KneeAndPlateau), ""))
}
