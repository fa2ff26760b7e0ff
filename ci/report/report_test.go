package report

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"

	"knee/analysis"
)

// No line of the report is wider than the terminal, colours aside, but for the
// command that repeats the run, which must stay one line.
func TestTextFitsItsWidth(t *testing.T) {
	for name, r := range results() {
		for _, width := range []int{0, 10, 60, 80, 120, 500} {
			var b bytes.Buffer
			if err := Text(&b, r, Options{Width: width}); err != nil {
				t.Fatal(err)
			}
			limit := Options{Width: width}.width()
			for line := range strings.Lines(b.String()) {
				line = strings.TrimRight(line, "\n")
				if n := len([]rune(line)); n > limit && !strings.HasPrefix(line, "repeat with:") {
					t.Errorf("%s at width %d: line of %d columns: %s", name, width, n, line)
				}
				if strings.TrimRight(line, " ") != line {
					t.Errorf("%s at width %d: line ends in blanks: %q", name, width, line)
				}
			}
		}
	}
}

func TestColourAddsNothingButColour(t *testing.T) {
	for name, r := range results() {
		var plain, coloured bytes.Buffer
		if err := errors.Join(Text(&plain, r, Options{}), Text(&coloured, r, Options{Color: true})); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(plain.String(), "\x1b") {
			t.Errorf("%s: colours where none are wanted", name)
		}
		if !strings.Contains(coloured.String(), "\x1b[") {
			t.Errorf("%s: no colours where they are wanted", name)
		}
		if got := ansi.ReplaceAllString(coloured.String(), ""); got != plain.String() {
			t.Errorf("%s: without its colours the report differs:\n%s", name, got)
		}
	}
}

// poison puts v in every number that a result of a broken analysis could have.
func poison(v float64) *analysis.Result {
	r := plateauResult()
	r.Capacity.RPS, r.Run.DurationS = &v, v
	for i := range r.Steps {
		r.Steps[i].LoadX, r.Steps[i].OfferedRPS, r.Steps[i].GoodputRPS = &v, v, v
		r.Steps[i].ResponseMS.P50, r.Steps[i].ResponseMS.P99 = &v, &v
	}
	r.Knee.RPS, r.Knee.LowRPS, r.Knee.HighRPS, r.Knee.X, r.Knee.SaturationRPS = &v, &v, &v, &v, &v
	r.Plateau.MinRetention, r.Plateau.TestedToX = &v, &v
	r.Recovery.MedianS, r.Recovery.LowS, r.Recovery.LostGood = &v, &v, &v
	r.Rejection.Q, r.Rejection.QLow, r.Rejection.CollapseRPS = &v, &v, &v
	return r
}

func TestTextNeverPrintsWhatIsNoNumber(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		var b bytes.Buffer
		if err := Text(&b, poison(v), Options{}); err != nil {
			t.Fatal(err)
		}
		for _, bad := range []string{"NaN", "Inf", "9223372036854775807"} {
			if strings.Contains(b.String(), bad) {
				t.Errorf("report of %v contains %s:\n%s", v, bad, b.String())
			}
		}
	}
}

func TestJSONWritesNullForWhatIsNoNumber(t *testing.T) {
	r := collapseResult()
	r.Knee.RPS, r.Steps[0].ResponseMS.P99 = some(math.NaN()), some(math.Inf(1))
	r.Rejection.ByReason = map[string]float64{"codel": math.Inf(-1), "rate": 0.5}
	r.Knee.ByClass = map[string]analysis.Knee{"checkout": {Verdict: "found", X: some(math.NaN())}}
	var b bytes.Buffer
	if err := JSON(&b, r); err != nil {
		t.Fatal(err)
	}
	var back analysis.Result
	if err := json.Unmarshal(b.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if back.Knee.RPS != nil || back.Steps[0].ResponseMS.P99 != nil || back.Knee.ByClass["checkout"].X != nil {
		t.Errorf("numbers that are none came back as %v, %v, %v, want null", back.Knee.RPS, back.Steps[0].ResponseMS.P99, back.Knee.ByClass["checkout"].X)
	}
	if len(back.Rejection.ByReason) != 1 || back.Rejection.ByReason["rate"] != 0.5 {
		t.Errorf("reasons came back as %v, want rate alone", back.Rejection.ByReason)
	}
	if !math.IsNaN(*r.Knee.RPS) || len(r.Rejection.ByReason) != 2 {
		t.Error("writing changed the result")
	}
}

func TestJSONRefusesARateThatIsNoNumber(t *testing.T) {
	r := collapseResult()
	r.Steps[2].GoodputRPS = math.NaN()
	var b bytes.Buffer
	err := JSON(&b, r)
	if err == nil || !strings.Contains(err.Error(), "Steps[2].GoodputRPS") || b.Len() > 0 {
		t.Errorf("JSON = %v after %d bytes, want an error that names the field, and nothing written", err, b.Len())
	}
}

func TestJSONIsStable(t *testing.T) {
	var a, b bytes.Buffer
	if err := errors.Join(JSON(&a, plateauResult()), JSON(&b, plateauResult())); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) || !bytes.HasSuffix(a.Bytes(), []byte("}\n")) {
		t.Error("the same result gives other bytes, or no newline at the end")
	}
	if bytes.Contains(a.Bytes(), []byte(`"warnings": null`)) {
		t.Error("an empty list is null, want []")
	}
}

func TestCollapseSaysWhy(t *testing.T) {
	for want, c := range map[string]analysis.Counts{
		"served late": {Good: 1, Late: 60},
		"served late (66.0% within the callers' grace, 33.0% still unanswered after it)": {Good: 1, Late: 66, Timeout: 33},
		"not answered before their callers stopped listening":                            {Good: 1, Timeout: 60},
		"rejected":                {Good: 1, Rejected: 60, Timeout: 30},
		"failed":                  {Good: 1, Failed: 60, Timeout: 30},
		"withheld by the clients": {Good: 1, Withheld: 60, Timeout: 30},
	} {
		r := collapseResult()
		c.Planned = c.Good + c.Late + c.Rejected + c.Timeout + c.Failed + c.Withheld
		r.Steps = []analysis.Step{step(500, analysis.Counts{Failed: 1000}), step(2000, c)}
		if got := collapseCause(r, loadsOf(r)); !strings.HasSuffix(got, " were "+want) {
			t.Errorf("cause is %q, want %q", got, want)
		}
	}
}

func TestMergeTakesMediansOfValidTrials(t *testing.T) {
	bad := step(100, analysis.Counts{Good: 999})
	bad.Valid, bad.Why = false, "cut short"
	l := merge([]analysis.Step{
		step(100, analysis.Counts{Good: 200}), step(100, analysis.Counts{Good: 100, Late: 80}), step(100, analysis.Counts{Good: 190}), bad,
	})
	if l.goodput != 95 || l.counts.Good != 490 || l.counts.Late != 80 || l.trials != 4 || !l.valid() || len(l.invalid) != 1 {
		t.Errorf("merged to %+v, want the median 95 of the valid trials", l)
	}
	if l := merge([]analysis.Step{bad}); l.valid() || l.goodput != 499.5 {
		t.Errorf("merged to %+v, want what there is, not valid", l)
	}
}

func TestPercentDoesNotRoundToNoneOrAll(t *testing.T) {
	for _, c := range []struct {
		part, n uint64
		want    string
	}{{0, 0, "-"}, {0, 10, "0.0"}, {10, 10, "100.0"}, {1, 100000, "<0.1"}, {99999, 100000, ">99.9"}, {1, 3, "33.3"}} {
		if got := percent(c.part, c.n); got != c.want {
			t.Errorf("percent(%d, %d) = %s, want %s", c.part, c.n, got, c.want)
		}
	}
}

func TestWriteErrorIsReturned(t *testing.T) {
	if err := Text(broken{}, base(), Options{}); !errors.Is(err, errBroken) {
		t.Errorf("Text = %v, want the error of the writer", err)
	}
	if err := JSON(broken{}, base()); !errors.Is(err, errBroken) {
		t.Errorf("JSON = %v, want the error of the writer", err)
	}
}

func TestRecoveryNamesWhatItWasFrom(t *testing.T) {
	for _, tt := range []struct {
		spikes, faults int
		want           string
	}{
		{2, 0, "median - s after the spike, interval - to - s, 2 spikes"},
		{0, 1, "median - s after the fault, interval - to - s, 1 fault"},
		{1, 2, "median - s after the spike or fault, interval - to - s, 1 spike and 2 faults"},
	} {
		r := analysis.Recovery{Verdict: "recovered", Spikes: tt.spikes, Faults: tt.faults}
		if got := recoverySentence(r); got != tt.want {
			t.Errorf("%d spikes and %d faults: %q, want %q", tt.spikes, tt.faults, got, tt.want)
		}
	}
}
