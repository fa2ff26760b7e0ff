package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"knee/analysis"
	"knee/ci/verdict"
)

// Outputs writes what later steps of a job want to know, a line NAME=VALUE for each, as
// GitHub reads it: the verdict, the knee in requests per second, the least retention,
// the recovery in seconds, the cost of a rejection, and the checks that failed. What is
// not known is empty.
func Outputs(w io.Writer, r *analysis.Result) error {
	number := func(v *float64) string {
		if !known(v) {
			return ""
		}
		return strconv.FormatFloat(*v, 'g', 6, 64)
	}
	var failed []string
	for _, c := range r.Checks {
		if c.Verdict == verdict.Fail {
			failed = append(failed, c.Name)
		}
	}
	for _, o := range [][2]string{
		{"verdict", r.Verdict},
		{"knee", number(r.Knee.RPS)},
		{"plateau", number(r.Plateau.MinRetention)},
		{"recovery", number(r.Recovery.MedianS)},
		{"rejection-q", number(r.Rejection.Q)},
		{"failed", strings.Join(failed, ", ")},
	} {
		if _, err := fmt.Fprintf(w, "%s=%s\n", o[0], oneLine(o[1])); err != nil {
			return err
		}
	}
	return nil
}
