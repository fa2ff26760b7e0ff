package wire_test

import (
	"net/http"
	"testing"
	"time"

	"pgregory.net/rapid"

	"knee/target/wire"
)

func TestParseRetryAfter(t *testing.T) {
	endOf1999 := time.Date(1999, 12, 31, 23, 59, 59, 0, time.UTC).Unix()
	const bad = -1
	for name, c := range map[string]struct {
		s    string
		now  int64
		want time.Duration
	}{
		"seconds":        {"120", endOf1999, 120 * time.Second},
		"zero":           {"0", endOf1999, 0},
		"negative":       {"-1", endOf1999, bad},
		"decimals":       {"1.5", endOf1999, bad},
		"words":          {"abc", endOf1999, bad},
		"empty":          {"", endOf1999, bad},
		"past date":      {"Fri, 31 Dec 1999 23:59:59 GMT", endOf1999 + 30, 0},
		"future date":    {"Fri, 31 Dec 1999 23:59:59 GMT", endOf1999 - 10, 10 * time.Second},
		"RFC 850":        {"Friday, 31-Dec-99 23:59:59 GMT", endOf1999 - 10, 10 * time.Second},
		"asctime":        {"Fri Dec 31 23:59:59 1999", endOf1999 - 10, 10 * time.Second},
		"asctime, day 6": {"Sun Nov  6 08:49:37 1994", 784111777 - 3, 3 * time.Second},
		"other zone":     {"Fri, 31 Dec 1999 23:59:59 CET", endOf1999, bad},
		"no such day":    {"Fri, 30 Feb 1999 23:59:59 GMT", endOf1999, bad},
		"no such month":  {"Fri, 31 anF 1999 23:59:59 GMT", endOf1999, bad},
		"no such hour":   {"Fri, 31 Dec 1999 24:00:00 GMT", endOf1999, bad},
	} {
		got, ok := wire.ParseRetryAfter(c.s, c.now)
		if !ok {
			got = bad
		}
		if got != c.want {
			t.Errorf("%s: ParseRetryAfter(%q) = %v, want %v", name, c.s, got, c.want)
		}
	}
}

// net/http knows the three forms of a date as well.
func TestDatesAreThoseOfNetHTTP(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		now := time.Unix(rapid.Int64Range(0, 4_000_000_000).Draw(t, "now"), 0).UTC()
		then := now.Add(time.Duration(rapid.IntRange(0, 1_000_000_000).Draw(t, "ahead")) * time.Second)
		for _, form := range []string{http.TimeFormat, "Monday, 02-Jan-06 15:04:05 GMT", time.ANSIC} {
			s := then.Format(form)
			if got, ok := wire.ParseRetryAfter(s, now.Unix()); !ok || got != then.Sub(now) {
				t.Fatalf("%q at %v is %v, %v, want %v", s, now, got, ok, then.Sub(now))
			}
		}
	})
}

func TestAppendRetryAfter(t *testing.T) {
	for d, want := range map[time.Duration]string{-1: "0", 0: "0", 1: "1", time.Second: "1", time.Second + 1: "2", time.Hour: "3600"} {
		if got := string(wire.AppendRetryAfter(nil, d)); got != want {
			t.Errorf("%v is %q, want %q", d, got, want)
		}
	}
}
