package verdict

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		text string
		want Check
		back string // the canonical form, when it is not text
	}{
		{"plateau >= 0.9", Check{"plateau", "", ">=", Value{0.9, NoUnit}, Value{}, ""}, ""},
		{"plateau >= 90%", Check{"plateau", "", ">=", Value{90, Percent}, Value{}, ""}, ""},
		{"plateau > 0.8 at 5x", Check{"plateau", "", ">", Value{0.8, NoUnit}, Value{5, X}, ""}, ""},
		{"knee >= 0.9x", Check{"knee", "", ">=", Value{0.9, X}, Value{}, ""}, ""},
		{"knee{class=check-out.v2} >= 1800/s", Check{"knee", "check-out.v2", ">=", Value{1800, Rate}, Value{}, ""}, ""},
		{"knee>=1800", Check{"knee", "", ">=", Value{1800, Rate}, Value{}, ""}, "knee >= 1800/s"},
		{"recovery <= 2s", Check{"recovery", "", "<=", Value{2e9, Duration}, Value{}, ""}, ""},
		{"recovery<1m30s", Check{"recovery", "", "<", Value{90e9, Duration}, Value{}, ""}, "recovery < 1m30s"},
		{"rejection.q <= 0.01", Check{"rejection.q", "", "<=", Value{0.01, NoUnit}, Value{}, ""}, ""},
		{"rejection.q <= 1%", Check{"rejection.q", "", "<=", Value{1, Percent}, Value{}, ""}, ""},
		{"failed == 0", Check{"failed", "", "==", Value{0, NoUnit}, Value{}, ""}, ""},
		{"failed != 0", Check{"failed", "", "!=", Value{0, NoUnit}, Value{}, ""}, ""},
		{"good{ class = a } >= 95% at 0.7x", Check{"good", "a", ">=", Value{95, Percent}, Value{0.7, X}, ""}, "good{class=a} >= 95% at 0.7x"},
		{"goodput >= 900 at 120000/m", Check{"goodput", "", ">=", Value{900, Rate}, Value{2000, Rate}, ""}, "goodput >= 900/s at 2000/s"},
		{"goodput >= 0.9x at 2000", Check{"goodput", "", ">=", Value{0.9, X}, Value{2000, Rate}, ""}, "goodput >= 0.9x at 2000/s"},
		{"  good.p99   <=80ms at  2x ", Check{"good.p99", "", "<=", Value{80e6, Duration}, Value{2, X}, ""}, "good.p99 <= 80ms at 2x"},
		{"good.p99.9 <= 80ms", Check{"good.p999", "", "<=", Value{80e6, Duration}, Value{}, ""}, "good.p999 <= 80ms"},
		{"good.max{class=a} < 1s", Check{"good.max", "a", "<", Value{1e9, Duration}, Value{}, ""}, ""},
		{"rejected.p50 < 1ms", Check{"rejected.p50", "", "<", Value{1e6, Duration}, Value{}, ""}, ""},
		{"lag.p99 < 500us", Check{"lag.p99", "", "<", Value{5e5, Duration}, Value{}, ""}, "lag.p99 < 500µs"},
		{"rejected >= 18810 in spike", Check{"rejected", "", ">=", Value{18810, NoUnit}, Value{}, "spike"}, ""},
		{"goodput >= 0.95x at 2x in after-the-flood", Check{"goodput", "", ">=", Value{0.95, X}, Value{2, X}, "after-the-flood"}, ""},
		{"attempts <= 110%  in  a.1  at 2x", Check{"attempts", "", "<=", Value{110, Percent}, Value{2, X}, "a.1"}, "attempts <= 110% at 2x in a.1"},
	} {
		t.Run(c.text, func(t *testing.T) {
			got, err := Parse(c.text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			back := c.back
			if back == "" {
				back = c.text
			}
			if got.String() != back {
				t.Errorf("written %q, want %q", got, back)
			}
		})
	}
	for metric := range kinds {
		if !strings.Contains(metrics, metric) && !strings.Contains(metric, ".") {
			t.Errorf("%s is not among the metrics that messages list", metric)
		}
	}
}

// TestParseErrors: each error says where, what, and which forms are allowed.
func TestParseErrors(t *testing.T) {
	for _, c := range []struct {
		text       string
		at         int
		what, want string // want is a part
	}{
		{"", 0, "the text ends", "plateau, knee, recovery"},
		{">= 5", 0, `unexpected ">="`, "plateau, knee, recovery"},
		{"plateua >= 0.9", 0, `unknown metric "plateua"`, "plateau, knee, recovery"},
		{"Plateau >= 0.9", 0, `unknown metric "Plateau"`, "plateau"},
		{"good.p95 <= 5ms", 0, `unknown metric "good.p95"`, ".p50, .p90, .p99, .p999 or .max"},
		{"good.p99.95 <= 5ms", 0, `unknown metric "good.p99.95"`, ".p999"},
		{"sent.p99 <= 5ms", 0, `unknown metric "sent.p99"`, "good, rejected, late, lag with"},
		{"plateau", 7, "the text ends", ">=, <=, >, <, ==, !="},
		{"plateau = 0.9", 8, `unexpected "="`, ">=, <=, >, <, ==, !="},
		{"plateau >== 0.9", 10, `plateau cannot be compared with "="`, "0.9 or 90%"},
		{"plateau >=", 10, "the text ends", "0.9 or 90%"},
		{"plateau >= 0.9x", 11, `plateau cannot be compared with "0.9x"`, "0.9 or 90%"},
		{"plateau >= -1", 11, `plateau cannot be compared with "-1"`, "0.9 or 90%"},
		{"plateau >= NaN", 11, `plateau cannot be compared with "NaN"`, "0.9 or 90%"},
		{"plateau >= 1e400", 11, `plateau cannot be compared with "1e400"`, "0.9 or 90%"},
		{"knee >= 5s", 8, `knee cannot be compared with "5s"`, "1800/s, or a multiple of capacity such as 0.9x"},
		{"knee >= 90%", 8, `knee cannot be compared with "90%"`, "1800/s"},
		{"recovery <= 2", 12, `recovery cannot be compared with "2"`, "a duration with a unit such as 2s"},
		{"recovery <= 999999h", 12, `recovery cannot be compared with "999999h"`, "a duration"},
		{"good.p99 <= 80", 12, `good.p99 cannot be compared with "80"`, "a duration with a unit such as 80ms"},
		{"failed == 5/s", 10, `failed cannot be compared with "5/s"`, "a percentage of planned"},
		{"goodput > 5_000", 10, `goodput cannot be compared with "5_000"`, "1800/s"},
		{"knee{klass=a} > 5", 4, `unexpected "{klass=a}"`, "{class=NAME}"},
		{"knee{class=} > 5", 4, `unexpected "{class=}"`, "{class=NAME}"},
		{"knee{class=a b} > 5", 4, `unexpected "{class=a"`, "{class=NAME}"},
		{"plateau{class=a} > 0.5", 7, "plateau is not kept by class", "knee, goodput, counts and good.pNN"},
		{"rejected.p99{class=a} < 5ms", 12, "rejected.p99 is not kept by class", "knee, goodput, counts and good.pNN"},
		{"plateau >= 0.9 in spike", 15, "plateau is not kept by phase", "goodput, counts and latencies"},
		{"good > 5 in", 11, "the text ends", "the name of a phase, or a kind such as spike"},
		{"good > 5 in -x", 12, `unexpected "-x"`, "the name of a phase, or a kind such as spike"},
		{"good > 5 in a in b", 14, `unexpected "in"`, "the end, at LOAD, or in PHASE"},
		{"good > 5 at 2x at 3x", 15, `unexpected "at"`, "the end, at LOAD, or in PHASE"},
		{"plateau >= 0.9 for 5s", 15, `unexpected "for"`, "the end, at LOAD, or in PHASE"},
		{"knee >= 0.9x at 5x", 13, "knee has no load", "it without at"},
		{"recovery <= 2s at 5x", 15, "recovery has no load", "it without at"},
		{"goodput > 5 at", 14, "the text ends", "a load such as 2x or 1800/s"},
		{"goodput > 5 at 5s", 15, `goodput cannot be taken at "5s"`, "a load such as 2x or 1800/s"},
		{"goodput > 5 at 0x", 15, `goodput cannot be taken at "0x"`, "a load such as 2x or 1800/s"},
		{"plateau > 0.5 at 50%", 17, `plateau cannot be taken at "50%"`, "a multiple of the knee such as 5x"},
		{"goodput > 5 at 2x now", 18, `unexpected "now"`, "the end"},
		{"knee{class=ä} >= 5", 4, `unexpected "{class=ä}"`, "{class=NAME}"},
		{"good > 5 ä", 9, `unexpected "ä"`, "the end, at LOAD, or in PHASE"},
	} {
		t.Run(c.text, func(t *testing.T) {
			got, err := Parse(c.text)
			var e *SyntaxError
			if !errors.As(err, &e) {
				t.Fatalf("got %v, %v, want a SyntaxError", got, err)
			}
			if e.Offset != c.at || e.What != c.what || !strings.Contains(e.Want, c.want) {
				t.Errorf("got %d, %q, want %q; want %d, %q, want %q", e.Offset, e.What, e.Want, c.at, c.what, c.want)
			}
			if got != (Check{}) {
				t.Errorf("an error comes with the check %v", got)
			}
		})
	}
}

// anyCheck draws a valid check.
func anyCheck(t *rapid.T) Check {
	var all []string
	for m := range kinds {
		all = append(all, m)
	}
	c := Check{
		Metric: rapid.SampledFrom(sorted(all)).Draw(t, "metric"),
		Op:     rapid.SampledFrom([]string{">=", "<=", ">", "<", "==", "!="}).Draw(t, "op"),
	}
	k := kinds[c.Metric]
	draw := func(u Unit) Value {
		if u == Duration {
			return Value{float64(rapid.Int64Range(0, int64(longest)).Draw(t, "ns")), u}
		}
		return Value{rapid.Float64Range(1e-9, 1e9).Draw(t, "number"), u}
	}
	unit := rapid.SampledFrom(k.units).Draw(t, "unit")
	if unit == NoUnit && c.Metric == "knee" || unit == NoUnit && c.Metric == "goodput" {
		unit = Rate
	}
	c.Value = draw(unit)
	if k.byClass && rapid.Bool().Draw(t, "has class") {
		c.Class = rapid.StringMatching(`[A-Za-z0-9_][A-Za-z0-9_.-]{0,9}`).Draw(t, "class")
	}
	if k.at != "" && rapid.Bool().Draw(t, "has load") {
		c.At = draw(rapid.SampledFrom([]Unit{Rate, X}).Draw(t, "load"))
	}
	if k.byPhase && rapid.Bool().Draw(t, "has phase") {
		c.In = rapid.SampledFrom([]string{"sweep", "spike", "a", "in", "at", "x-1.y"}).Draw(t, "phase")
	}
	return c
}

func TestRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := anyCheck(t)
		got, err := Parse(c.String())
		if err != nil || got != c {
			t.Errorf("%q is read %+v, %v; want %+v", c, got, err, c)
		}
	})
}

// FuzzParse: no text makes the parser panic; what it takes it writes in a form
// that it reads as the same check.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"plateau >= 0.9", "knee{class=a} >= 0.9x", "recovery <= 1m30s", "good.p99.9 <= 80ms at 2x", "failed == 0 at 2.5/m", "rejection.q<1%", "lag.max!=1ns", "good > 5 in a at 2x",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		c, err := Parse(s)
		if err != nil {
			var e *SyntaxError
			if !errors.As(err, &e) || e.Offset < 0 || e.Offset > len(s) || e.What == "" || e.Want == "" {
				t.Fatalf("%q: %#v", s, err)
			}
			return
		}
		again, err := Parse(c.String())
		if err != nil || again != c {
			t.Errorf("%q is %+v, written %q, read %+v, %v", s, c, c, again, err)
		}
	})
}

func TestValueString(t *testing.T) {
	for want, v := range map[string]Value{
		"1000000000/s": {1e9, Rate}, "0.001x": {0.001, X}, "2h0m0s": {float64(2 * time.Hour), Duration}, "0": {}, "12.5%": {12.5, Percent},
	} {
		if got := v.String(); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
