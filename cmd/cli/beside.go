package cli

import (
	"os"
	"path/filepath"

	"knee/analysis"
	"knee/ci/report"
	"knee/ci/verdict"
	"knee/generator/record"
)

// isRun says whether path is a folder: that of a run, for a profile is none.
func isRun(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// keptResult returns the result of the run in a folder.
func keptResult(dir string) (*analysis.Result, error) {
	kept, err := record.Open(dir)
	if err != nil {
		return nil, fail(verdict.CodeUsage, "%w", err)
	}
	r, err := resultOf(kept)
	if err != nil {
		return nil, fail(verdict.CodeUsage, "%s: %w", dir, err)
	}
	return r, nil
}

// compareRuns says what finished runs differ in.
func compareRuns(w *world, o *compareOptions, dirs []string) error {
	if err := o.checkFinished(dirs); err != nil {
		return err
	}
	var names []string
	var runs []*analysis.Result
	for _, dir := range dirs {
		r, err := keptResult(dir)
		if err != nil {
			return err
		}
		names, runs = append(names, filepath.Clean(dir)), append(runs, r)
	}
	b := analysis.Compare(names, runs)
	var err error
	if o.format == "json" {
		err = report.BesideJSON(w.stdout, b)
	} else {
		err = report.Beside(w.stdout, b, report.Options{Width: w.width(), Color: w.inColour(o.color)})
	}
	if err != nil {
		return fail(verdict.CodeInternal, "%w", err)
	}
	return nil
}

// checkFinished refuses what does not go with finished runs.
func (o *compareOptions) checkFinished(dirs []string) error {
	if len(dirs) < 2 {
		return fail(verdict.CodeUsage, "compare %s: want the folders of two runs or more, or a PROFILE", dirs[0])
	}
	for _, dir := range dirs {
		if !isRun(dir) {
			return fail(verdict.CodeUsage, "compare: %s is no folder: want the folders of finished runs, or one PROFILE", dir)
		}
	}
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"--protect", len(o.chains) > 0},
		{"--order", len(o.orders) > 0},
		{"--all", o.all},
		{"--live", o.live},
		{"--set", len(o.set) > 0},
		{"--seed", o.seedSet},
		{"--timeout", o.timeout > 0},
		{"--quick", o.quick},
	} {
		if f.given {
			return fail(verdict.CodeUsage, "%s with the folders of runs: they are finished, and no load is offered", f.name)
		}
	}
	return o.runOptions.check()
}
