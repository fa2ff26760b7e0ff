package report

import (
	"bytes"
	"encoding/xml"
	"math"
	"strings"
	"testing"

	"golang.org/x/perf/benchfmt"

	"knee/analysis"
)

// hostile is a result whose texts hold what each format would take for its own.
func hostile() *analysis.Result {
	r := collapseResult()
	r.Profile = map[string]any{"name": "a<b>&\"c\" \x07 ü 漢 |`]]>"}
	r.Warnings = append(r.Warnings, "100% of::it\nwas <script>lost</script> | *here* `there`")
	r.Checks = []analysis.Check{
		{Name: "knee", Want: ">= 1", Got: "0", Verdict: "fail", Why: "a, b: c\nd %"},
		{Name: "knee", Want: ">= 1", Got: "0", Verdict: "inconclusive", Why: "]]>\x00"},
		{Name: "unsent", Want: "== 0", Got: "0", Verdict: "pass"},
	}
	return r
}

// Each format is written for every result, and for those whose numbers are none.
func TestFormats(t *testing.T) {
	all := results()
	all["hostile"], all["nan"], all["inf"], all["empty"] = hostile(), poison(math.NaN()), poison(math.Inf(1)), &analysis.Result{}
	for _, f := range Formats() {
		for name, r := range all {
			if f == "json" && (name == "nan" || name == "inf") {
				continue // has tests of its own
			}
			var b bytes.Buffer
			if err := Write(&b, f, r, Options{}); err != nil {
				t.Errorf("%s of %s: %v", f, name, err)
			}
			for _, bad := range []string{"NaN", "Inf", "\x00", "\x07"} {
				if f != "text" && strings.Contains(b.String(), bad) {
					t.Errorf("%s of %s contains %q", f, name, bad)
				}
			}
			if f != "text" && f != "json" && results()[name] != nil {
				golden(t, name+"."+f+".golden", b.Bytes())
			}
		}
	}
	if err := Write(&bytes.Buffer{}, "pdf", all["plateau"], Options{}); err == nil || !strings.Contains(err.Error(), "text, json, md, junit, bench") {
		t.Errorf("pdf: %v, want an error that names the formats", err)
	}
}

// suites is what readers of JUnit look at.
type suites struct {
	Tests    int `xml:"tests,attr"`
	Failures int `xml:"failures,attr"`
	Errors   int `xml:"errors,attr"`
	Skipped  int `xml:"skipped,attr"`
	Suites   []struct {
		Name  string `xml:"name,attr"`
		Cases []struct {
			Name    string    `xml:"name,attr"`
			Class   string    `xml:"classname,attr"`
			Failure *struct{} `xml:"failure"`
			Error   *struct{} `xml:"error"`
			Skipped *struct{} `xml:"skipped"`
		} `xml:"testcase"`
	} `xml:"testsuite"`
}

func TestJUnit(t *testing.T) {
	for policy, want := range map[string]suites{
		"":             {Tests: 3, Failures: 1, Errors: 1},
		"inconclusive": {Tests: 3, Failures: 1, Errors: 1},
		"pass":         {Tests: 3, Failures: 1, Skipped: 1},
		"fail":         {Tests: 3, Failures: 2},
	} {
		var b bytes.Buffer
		if err := JUnit(&b, hostile(), policy); err != nil {
			t.Fatal(err)
		}
		var got suites
		if err := xml.Unmarshal(b.Bytes(), &got); err != nil {
			t.Fatalf("%v in\n%s", err, b.String())
		}
		var seen suites
		names := map[string]bool{}
		for _, c := range got.Suites[0].Cases {
			seen.Tests++
			names[c.Name] = true
			if c.Failure != nil {
				seen.Failures++
			}
			if c.Error != nil {
				seen.Errors++
			}
			if c.Skipped != nil {
				seen.Skipped++
			}
			if c.Class != got.Suites[0].Name || !strings.HasPrefix(c.Class, `knee.a<b>&"c"`) {
				t.Errorf("class %q in suite %q", c.Class, got.Suites[0].Name)
			}
		}
		got.Suites = nil
		if got.Tests != want.Tests || got.Failures != want.Failures || got.Errors != want.Errors || got.Skipped != want.Skipped {
			t.Errorf("inconclusive=%q: counted %+v, want %+v", policy, got, want)
		}
		if seen.Tests != got.Tests || seen.Failures != got.Failures || seen.Errors != got.Errors || seen.Skipped != got.Skipped || len(names) != 3 {
			t.Errorf("inconclusive=%q: %+v in the cases, named %v, counted %+v", policy, seen, names, got)
		}
	}
}

// A run without checks, and none at all, have a case.
func TestJUnitIsNeverEmpty(t *testing.T) {
	r := allFailedResult()
	r.Checks = nil
	var run, none bytes.Buffer
	if err := JUnit(&run, r, ""); err != nil {
		t.Fatal(err)
	}
	if err := JUnitNotRun(&none, "no \x01 way"); err != nil {
		t.Fatal(err)
	}
	for _, b := range []bytes.Buffer{run, none} {
		var got suites
		if err := xml.Unmarshal(b.Bytes(), &got); err != nil || got.Tests != 1 || got.Failures+got.Errors != 1 {
			t.Errorf("%v, %+v; want one case that is not met, in\n%s", err, got, b.String())
		}
	}
}

func TestGitHub(t *testing.T) {
	var b bytes.Buffer
	if err := GitHub(&b, hostile(), ""); err != nil {
		t.Fatal(err)
	}
	want := "::error title=knee%3A knee is fail::knee >= 1: got 0 (a, b: c%0Ad %25)\n" +
		"::warning title=knee%3A knee is inconclusive::knee >= 1: got 0 (]]>\ufffd)\n"
	if b.String() != want {
		t.Errorf("got\n%swant\n%s", b.String(), want)
	}
	r := hostile()
	for range 20 {
		r.Checks = append(r.Checks, r.Checks[0])
	}
	b.Reset()
	if err := GitHub(&b, r, "fail"); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(b.String(), "::error"); n != 10 || strings.Contains(b.String(), "::warning") || !strings.Contains(b.String(), "::13 more\n") {
		t.Errorf("%d errors of 22, want 10, the last of which says how many more:\n%s", n, b.String())
	}
}

// What is too long is cut off at the end of a line, and says so.
func TestMarkdownIsBounded(t *testing.T) {
	r := plateauResult()
	for range 5000 {
		r.Warnings = append(r.Warnings, strings.Repeat("漢", 100))
	}
	var b bytes.Buffer
	if err := Markdown(&b, r); err != nil {
		t.Fatal(err)
	}
	if b.Len() > mostMarkdown || b.Len() < mostMarkdown/2 || !strings.HasSuffix(b.String(), "\n\n… cut off\n") {
		t.Errorf("%d bytes, the last ones %q", b.Len(), b.String()[b.Len()-40:])
	}
}

// benchstat's own reader takes what Bench writes.
func TestBenchIsRead(t *testing.T) {
	for name, r := range results() {
		var b bytes.Buffer
		if err := Bench(&b, r); err != nil {
			t.Fatal(err)
		}
		in, lines := benchfmt.NewReader(&b, name), 0
		for in.Scan() {
			res, ok := in.Result().(*benchfmt.Result)
			if !ok {
				t.Fatalf("%s: %v", name, in.Result())
			}
			lines++
			if base, _ := res.Name.Parts(); string(base) != "Knee" && string(base) != "Load" || res.GetConfig("clock") != r.Run.Clock {
				t.Errorf("%s: benchmark %s, clock %s", name, res.Name, res.GetConfig("clock"))
			}
			if v, ok := res.Value("knee-rps"); ok && v != *r.Knee.RPS {
				t.Errorf("%s: knee of %v, want %v", name, v, *r.Knee.RPS)
			}
		}
		valid := 0
		for _, s := range r.Steps {
			if s.Valid {
				valid++
			}
		}
		if err := in.Err(); err != nil || lines < valid {
			t.Errorf("%s: %v after %d lines of %d trials", name, err, lines, valid)
		}
	}
}
