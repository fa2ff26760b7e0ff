package profiles

import (
	"math"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestParseDuration: a duration is read as meant or refused, never as another
// unit and never silently as 0.
func TestParseDuration(t *testing.T) {
	for _, c := range []struct {
		text string
		want time.Duration // -1: refused
	}{
		{"5", -1},
		{"", -1},
		{"5 s", -1},
		{"5S", -1},
		{"-1s", -1},
		{"1d", -1},
		{"1e3ms", -1},
		{"300y", -1},
		{"NaN", -1},
		{"Inf", -1},
		{"+5s", -1},
		{"5s ", -1},
		{"1_000ms", -1},
		{"0x5s", -1},
		{"5.s.", -1},
		{"s", -1},
		{"9999999h", -1},
		{"999999999999999999999h", -1},
		{"1001h", -1},
		{"0.5", -1},
		{"-0s", -1},
		{"٣s", -1},
		{"0", 0},
		{"0s", 0},
		{"5s", 5 * time.Second},
		{"1m30s", 90 * time.Second},
		{"1.5s", 1500 * time.Millisecond},
		{".5s", 500 * time.Millisecond},
		{"10us", 10 * time.Microsecond},
		{"10µs", 10 * time.Microsecond},
		{"1000h", 1000 * time.Hour},
	} {
		got, err := ParseDuration(c.text)
		switch {
		case c.want < 0 && (err == nil || !strings.Contains(err.Error(), "want ")):
			t.Errorf("%q: got %v, %v; want it refused with what is allowed", c.text, got, err)
		case c.want >= 0 && (err != nil || got != Duration(c.want)):
			t.Errorf("%q: got %v, %v; want %v", c.text, got, err, c.want)
		}
	}
}

func TestParseRate(t *testing.T) {
	refused := Rate{Value: -1}
	for _, c := range []struct {
		text string
		want Rate
	}{
		{"1000", Rate{Value: 1000}},
		{"1000/s", Rate{Value: 1000}},
		{"6000/m", Rate{Value: 100}},
		{"2.5/m", Rate{Value: 2.5 / 60}},
		{"0.8x", Rate{Value: 0.8, X: true}},
		{".5x", Rate{Value: 0.5, X: true}},
		{"1e3", Rate{Value: 1000}},
		{"0", Rate{}},
		{"1000000/s", Rate{Value: 1e6}},
		{"60000000/m", Rate{Value: 1e6}},
		{"", refused},
		{"-1", refused},
		{"-0.5x", refused},
		{"NaN", refused},
		{"Inf", refused},
		{".inf", refused},
		{"1e12", refused},
		{"1000001", refused},
		{"1e400", refused},
		{"1_000", refused},
		{"1,000", refused},
		{"10 /s", refused},
		{"10/h", refused},
		{"10/ s", refused},
		{"x", refused},
		{"5X", refused},
		{"0x10", refused},
		{"5s", refused},
		{"1/s/s", refused},
		{"5xx", refused},
		{"5/sx", refused},
	} {
		got, err := ParseRate(c.text)
		switch {
		case c.want == refused && (err == nil || !strings.Contains(err.Error(), "want ")):
			t.Errorf("%q: got %v, %v; want it refused with what is allowed", c.text, got, err)
		case c.want != refused && (err != nil || got != c.want):
			t.Errorf("%q: got %v, %v; want %v", c.text, got, err, c.want)
		}
	}
}

// TestValuesRoundTrip: what is written reads back as the same value.
func TestValuesRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := Duration(rapid.Int64Range(0, int64(MaxDuration)).Draw(t, "duration"))
		if got, err := ParseDuration(d.String()); err != nil || got != d {
			t.Errorf("duration %d is written %s and read %v, %v", d, d, got, err)
		}
		r := Rate{rapid.Float64Range(0, MaxRate).Draw(t, "rate"), rapid.Bool().Draw(t, "x")}
		if got, err := ParseRate(r.String()); err != nil || got != r {
			t.Errorf("rate %v is written %s and read %v, %v", r.Value, r, got, err)
		}
	})
	for text, want := range map[string]string{"3600s": "1h", "90s": "1m30s", "60s": "1m", "0": "0s", "3601s": "1h0m1s", "36000s": "10h"} {
		if d, err := ParseDuration(text); err != nil || d.String() != want {
			t.Errorf("%s is written %v (%v), want %s", text, d, err, want)
		}
	}
}

// FuzzValues: no text makes a value that is not finite, negative, or beyond its bounds.
func FuzzValues(f *testing.F) {
	for _, s := range []string{"5", "5s", "1m30s", "0.8x", "2.5/m", "NaN", "1e308", "-1s", "9999999h"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if d, err := ParseDuration(s); err == nil && (d < 0 || d > Duration(MaxDuration)) {
			t.Errorf("duration %q is %d", s, d)
		}
		if r, err := ParseRate(s); err == nil && (!(r.Value >= 0 && r.Value <= MaxRate) || math.IsInf(r.Value, 0)) {
			t.Errorf("rate %q is %v", s, r.Value)
		}
	})
}

func TestDidYouMean(t *testing.T) {
	names := []string{"timeout", "deadline", "grace", "on_timeout", "clients"}
	for s, want := range map[string]string{
		"tiemout": "timeout", "Timeout": "timeout", "timeout_": "timeout", "client": "clients", "grcae": "grace",
		"ontimeout": "on_timeout", "zebra": "", "x": "", "": "",
	} {
		got := didYouMean(s, names)
		if want == "" && got != "" || want != "" && got != "; did you mean \""+want+"\"?" {
			t.Errorf("%q: got %q, want %q", s, got, want)
		}
	}
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "abc", 3}, {"abc", "abc", 0}, {"kitten", "sitting", 3}, {"ab", "ba", 1}, {"ca", "abc", 3}, {"ü", "u", 1}} {
		if got := editDistance(c.a, c.b); got != c.want {
			t.Errorf("%q to %q is %d, want %d", c.a, c.b, got, c.want)
		}
	}
}
