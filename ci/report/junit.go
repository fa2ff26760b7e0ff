package report

import (
	"cmp"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/jstemmer/go-junit-report/v2/junit"

	"knee/analysis"
	"knee/ci/verdict"
)

// JUnit writes what was judged as JUnit XML: a suite for the run with a test case
// for each check. Those who read it take the class name for the suite (GitLab)
// and drop the second of two cases with the same name (GitLab), and take a file
// without cases for a mistake (Jenkins): so the class is knee.PROFILE, the names
// differ, and a run without checks has one case, its verdict.
//
// A check that is not met is a failure, an inconclusive one an error. inconclusive
// is what an inconclusive one counts as, as in verdict.Code: with Pass it is
// skipped, with Fail a failure.
func JUnit(w io.Writer, r *analysis.Result, inconclusive string) error {
	suite := junit.Testsuite{Name: "knee", Time: seconds(r.Run.DurationS)}
	class := "knee"
	if name := profileName(r.Profile); name != "" {
		class += "." + xmlText(name)
	}
	suite.Name = class
	if r.Run.StartedAt != nil {
		suite.Timestamp = *r.Run.StartedAt
	}
	for _, p := range properties(r) {
		suite.AddProperty(p.Name, xmlText(p.Value))
	}
	used := map[string]int{}
	for _, c := range judged(r) {
		name := xmlText(condition(c))
		if used[name]++; used[name] > 1 {
			name += " #" + strconv.Itoa(used[name])
		}
		suite.AddTestcase(testcase(c, class, name, inconclusive))
	}
	var out strings.Builder
	if err := Text(&out, r, Options{Width: maxWidth}); err != nil {
		return err
	}
	suite.SystemOut = &junit.Output{Data: xmlText(out.String())}
	all := junit.Testsuites{Name: "knee", Time: suite.Time}
	all.AddSuite(suite)
	return all.WriteXML(w)
}

// judged returns the checks of r, or its verdict when there are none.
func judged(r *analysis.Result) []analysis.Check {
	if len(r.Checks) > 0 {
		return r.Checks
	}
	why := because(spell(r.Knee.Verdict), r.Knee.Why) + "; plateau: " + because(spell(r.Plateau.Verdict), r.Plateau.Why)
	return []analysis.Check{{Name: "run", Want: "answered", Got: r.Verdict, Verdict: r.Verdict, Why: "knee: " + why}}
}

// testcase returns the test case of a check.
func testcase(c analysis.Check, class, name, inconclusive string) junit.Testcase {
	said := "got " + cmp.Or(c.Got, absent) + ", want " + c.Want
	if c.Why != "" {
		said += ": " + c.Why
	}
	said = xmlText(said)
	t := junit.Testcase{Name: name, Classname: class, Time: seconds(0)}
	switch {
	case c.Verdict == verdict.Pass:
		t.SystemOut = &junit.Output{Data: said}
	case c.Verdict == verdict.Fail:
		t.Failure = &junit.Result{Type: "CheckFailed", Message: said, Data: said}
	case inconclusive == verdict.Pass:
		t.Skipped = &junit.Result{Message: "inconclusive: " + said}
	case inconclusive == verdict.Fail:
		t.Failure = &junit.Result{Type: "Inconclusive", Message: said, Data: said}
	default:
		t.Error = &junit.Result{Type: "Inconclusive", Message: said, Data: said}
	}
	return t
}

// properties say how the run can be told from others, and repeated.
func properties(r *analysis.Result) []junit.Property {
	p := []junit.Property{
		{Name: "command", Value: r.Run.Command},
		{Name: "version", Value: r.Run.Version},
		{Name: "clock", Value: r.Run.Clock},
		{Name: "seed", Value: strconv.FormatUint(r.Run.Seed, 10)},
		{Name: "profile_sha256", Value: r.Run.ProfileSHA256},
		{Name: "repeat", Value: r.Run.Repeat},
		{Name: "verdict", Value: r.Verdict},
		{Name: "generator", Value: r.Generator.Verdict},
	}
	if known(r.Knee.RPS) {
		p = append(p, junit.Property{Name: "knee_rps", Value: fixed(*r.Knee.RPS, 1)})
	}
	return p
}

// seconds writes a duration as JUnit has it: finite, with a dot.
func seconds(s float64) string {
	if !isFinite(s) || s < 0 {
		s = 0
	}
	return fmt.Sprintf("%.3f", s)
}

// xmlText replaces what XML 1.0 has no way to write.
func xmlText(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' || r == '\r' || r >= 0x20 && r <= 0xd7ff || r >= 0xe000 && r <= 0xfffd || r >= 0x10000 {
			return r
		}
		return '\ufffd'
	}, s)
}

// JUnitNotRun writes that there was no run, as an error.
func JUnitNotRun(w io.Writer, why string) error {
	why = xmlText(why)
	suite := junit.Testsuite{Name: "knee", Time: seconds(0)}
	suite.AddTestcase(junit.Testcase{
		Name: "run", Classname: "knee", Time: seconds(0),
		Error: &junit.Result{Type: "NotRun", Message: why, Data: why},
	})
	all := junit.Testsuites{Name: "knee", Time: suite.Time}
	all.AddSuite(suite)
	return all.WriteXML(w)
}
