package cli

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"knee/analysis"
	"knee/ci/report"
	"knee/ci/verdict"
)

// conclude ends a run that ended with err: it takes out the faults that are
// still there, analyses and prints what there is, then says how knee ends.
func (s *session) conclude(ctx context.Context, err error) error {
	reverted := s.revert()
	var stopped *interrupt
	var guarded *tripped
	if errors.As(err, &guarded) {
		s.watch.guards = nil
		s.calm(ctx)
	}
	switch {
	case guarded != nil:
		s.meta.Warnings = append(s.meta.Warnings, guarded.Error())
	case errors.As(err, &stopped):
		s.meta.Warnings = append(s.meta.Warnings, stopped.Error()+" before the end: the answers rest on what was measured until then")
	case errors.Is(err, context.Canceled):
		s.meta.Warnings = append(s.meta.Warnings, "stopped before the end")
	case err != nil:
		s.meta.Warnings = append(s.meta.Warnings, fmt.Sprintf("ended early: %v", err))
	}
	s.meta.Stopped = err != nil
	r, ferr := s.finish()
	if r != nil {
		if werr := s.w.print(r, s.o); werr != nil {
			return fail(verdict.CodeInternal, "%w", werr)
		}
		if s.o.gate != nil {
			if werr := s.o.gate.write(s.w, r); werr != nil {
				return fail(verdict.CodeInternal, "%w", werr)
			}
		}
	}
	switch {
	case reverted != nil:
		return reverted
	case stopped != nil:
		return exit(stopped.code())
	case guarded != nil:
		return exit(verdict.CodeAborted)
	case err != nil:
		return err
	case ferr != nil:
		return ferr
	}
	inconclusive := ""
	if s.o.gate != nil {
		inconclusive = s.o.gate.inconclusive
	}
	return exit(verdict.Code(r.Verdict, inconclusive))
}

// width is how many columns reports may take.
func (w *world) width() int {
	if value, set := w.env("COLUMNS"); set {
		if n, err := strconv.Atoi(value); err == nil && n > 0 {
			return n
		}
	}
	return 100
}

// print writes a result to stdout.
func (w *world) print(r *analysis.Result, o *runOptions) error {
	return report.Write(w.stdout, o.format, r, w.reportOptions(o))
}

// reportOptions say how a report for people looks.
func (w *world) reportOptions(o *runOptions) report.Options {
	return report.Options{Width: w.width(), Color: w.inColour(o.color)}
}
