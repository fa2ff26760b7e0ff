package report

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"knee/analysis"
	"knee/ci/verdict"
)

// mostAnnotations is how many errors, and how many warnings, GitHub shows of a
// step.
const mostAnnotations = 10

// GitHub writes the checks that are not met as errors and the inconclusive ones
// as warnings, in the workflow commands of GitHub Actions: ten of each at most,
// the last of which says how many more there are. inconclusive is what an
// inconclusive check counts as: Fail makes it an error.
func GitHub(w io.Writer, r *analysis.Result, inconclusive string) error {
	var failed, unclear []analysis.Check
	for _, c := range judged(r) {
		switch {
		case c.Verdict == verdict.Pass:
		case c.Verdict == verdict.Fail || inconclusive == verdict.Fail:
			failed = append(failed, c)
		default:
			unclear = append(unclear, c)
		}
	}
	var b strings.Builder
	annotate(&b, "error", failed)
	annotate(&b, "warning", unclear)
	_, err := io.WriteString(w, b.String())
	return err
}

// annotate writes a command for each check.
func annotate(b *strings.Builder, level string, checks []analysis.Check) {
	for i, c := range checks {
		if i == mostAnnotations-1 && len(checks) > mostAnnotations {
			fmt.Fprintf(b, "::%s title=knee::%d more\n", level, len(checks)-i)
			return
		}
		said := condition(c) + ": got " + cmp.Or(c.Got, absent)
		if c.Why != "" {
			said += " (" + c.Why + ")"
		}
		fmt.Fprintf(b, "::%s title=%s::%s\n", level, commandProperty("knee: "+c.Name+" is "+spell(c.Verdict)), commandData(said))
	}
}

// commandData and commandProperty escape what workflow commands take for their own.
func commandData(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(xmlText(s))
}

func commandProperty(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(commandData(s))
}
