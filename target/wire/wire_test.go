package wire_test

import (
	"math"
	"net/http"
	"testing"
	"time"

	"pgregory.net/rapid"

	"knee/target/wire"
)

func TestHeaderNamesAreCanonical(t *testing.T) {
	for _, name := range []string{
		wire.Class, wire.Client, wire.WorkNs, wire.TimeoutMs, wire.Tenant, wire.Criticality, wire.Cost, wire.Signature,
		wire.GRPCTimeout, wire.EnvoyTimeout, wire.Reason, wire.Degraded, wire.RetryAfter, wire.RetryAfterMs,
	} {
		if canonical := http.CanonicalHeaderKey(name); name != canonical {
			t.Errorf("%s: want %s: a lookup in http.Header would miss it", name, canonical)
		}
	}
}

func TestAppendMillis(t *testing.T) {
	for name, c := range map[string]struct {
		d    time.Duration
		want string
	}{
		"to the nanosecond": {97*time.Millisecond + 123, "97.000123"},
		"no decimals":       {97 * time.Millisecond, "97"},
		"no trailing zeros": {1500 * time.Microsecond, "1.5"},
		"below one":         {time.Nanosecond, "0.000001"},
		"zero":              {0, "0"},
		"gone":              {-time.Second, "0"},
		"longest":           {math.MaxInt64, "9223372036854.775807"},
	} {
		if got := string(wire.AppendMillis(nil, c.d)); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestParseMillis(t *testing.T) {
	const bad = -1
	for name, c := range map[string]struct {
		s    string
		want time.Duration
	}{
		"to the nanosecond": {"97.000123", 97*time.Millisecond + 123},
		"whole":             {"100", 100 * time.Millisecond},
		"cut off":           {"0.0000019", 1},
		"clamped":           {"9223372036855", math.MaxInt64},
		"clamped by part":   {"9223372036854.775808", math.MaxInt64},
		"clamped by digits": {"99999999999999999999999999", math.MaxInt64},
		"zero":              {"0", 0},
		"negative":          {"-1", bad},
		"sign":              {"+1", bad},
		"no digits":         {"", bad},
		"point alone":       {".", bad},
		"no whole part":     {".5", bad},
		"no decimals":       {"5.", bad},
		"two points":        {"1.2.3", bad},
		"unit":              {"100ms", bad},
		"exponent":          {"1e3", bad},
		"space":             {" 1", bad},
	} {
		got, ok := wire.ParseMillis(c.s)
		if !ok {
			got = bad
		}
		if got != c.want {
			t.Errorf("%s: ParseMillis(%q) = %v, want %v", name, c.s, got, c.want)
		}
	}
}

func TestMillisComeBackExactly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Min(0).Draw(t, "d"))
		s := string(wire.AppendMillis(nil, d))
		if got, ok := wire.ParseMillis(s); !ok || got != d {
			t.Fatalf("%v became %q became %v, %v", d, s, got, ok)
		}
	})
}

// The vectors are those of grpc-go's internal/grpcutil, as collected in the
// survey of deadline headers.
func TestGRPC(t *testing.T) {
	for name, c := range map[string]struct {
		d    time.Duration
		want string
	}{
		"rounds up":   {123456789 * time.Nanosecond, "123457u"},
		"to minutes":  {123456789 * time.Second, "2057614M"},
		"zero":        {0, "0n"},
		"gone":        {-time.Second, "0n"},
		"eight":       {99999999, "99999999n"},
		"nine digits": {100000000, "100000u"},
		"longest":     {math.MaxInt64, "2562048H"},
	} {
		if got := string(wire.AppendGRPC(nil, c.d)); got != c.want {
			t.Errorf("%s: AppendGRPC(%d) = %q, want %q", name, c.d, got, c.want)
		}
	}
	const bad = -1
	for name, c := range map[string]struct {
		s    string
		want time.Duration
	}{
		"seconds":    {"1234S", 1234 * time.Second},
		"case":       {"1234s", bad},
		"nine":       {"000000000S", bad},
		"eight":      {"00000001n", 1},
		"clamped":    {"2562048H", math.MaxInt64},
		"not yet":    {"2562047H", 2562047 * time.Hour},
		"minutes":    {"2M", 2 * time.Minute},
		"millis":     {"100m", 100 * time.Millisecond},
		"micros":     {"7u", 7 * time.Microsecond},
		"unit alone": {"S", bad},
		"no unit":    {"12", bad},
		"two units":  {"12mS", bad},
		"negative":   {"-1S", bad},
		"nothing":    {"", bad},
	} {
		got, ok := wire.ParseGRPC(c.s)
		if !ok {
			got = bad
		}
		if got != c.want {
			t.Errorf("%s: ParseGRPC(%q) = %v, want %v", name, c.s, got, c.want)
		}
	}
}

func TestGRPCNeverRoundsDown(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Min(1).Draw(t, "d"))
		s := string(wire.AppendGRPC(nil, d))
		got, ok := wire.ParseGRPC(s)
		if !ok || got < d {
			t.Fatalf("%v became %q became %v, %v", d, s, got, ok)
		}
		if len(s) > 9 {
			t.Fatalf("%v became %q: more than 8 digits", d, s)
		}
		if over := float64(got-d) / float64(d); over > 1e-5 && got < math.MaxInt64 {
			t.Fatalf("%v became %q, %g too much", d, s, over)
		}
	})
}

func TestEnvoy(t *testing.T) {
	for s, want := range map[string]time.Duration{"15000": 15 * time.Second, "1": time.Millisecond, "0": -1, "": -1, "1.5": -1, "-1": -1} {
		got, ok := wire.ParseEnvoy(s)
		if !ok {
			got = -1
		}
		if got != want {
			t.Errorf("ParseEnvoy(%q) = %v, want %v", s, got, want)
		}
	}
}

func TestSmallestTimeoutWins(t *testing.T) {
	for name, c := range map[string]struct {
		own, grpc, envoy string
		want             time.Duration
		bad              int
	}{
		"none":          {want: wire.NoTimeout},
		"own":           {own: "30", grpc: "31m", envoy: "32", want: 30 * time.Millisecond},
		"grpc":          {own: "30", grpc: "29m", envoy: "32", want: 29 * time.Millisecond},
		"envoy":         {own: "30", grpc: "1S", envoy: "23", want: 23 * time.Millisecond},
		"gone":          {own: "0", grpc: "1S", want: 0},
		"bad is absent": {own: "-5", grpc: "1s", envoy: "100", want: 100 * time.Millisecond, bad: 2},
		"all bad":       {own: "soon", grpc: "S", envoy: "0", want: wire.NoTimeout, bad: 3},
	} {
		var to wire.Timeout
		bad := 0
		for _, h := range []struct {
			value string
			take  func(string) bool
		}{{c.own, to.Own}, {c.grpc, to.GRPC}, {c.envoy, to.Envoy}} {
			if h.value != "" && !h.take(h.value) {
				bad++
			}
		}
		if to.Left() != c.want || bad != c.bad {
			t.Errorf("%s: %v left, %d bad; want %v, %d", name, to.Left(), bad, c.want, c.bad)
		}
	}
}

func TestCriticality(t *testing.T) {
	for level, name := range []string{"sheddable", "sheddable_plus", "critical", "critical_plus"} {
		if got := wire.CriticalityName(level); got != name {
			t.Errorf("level %d is %q, want %q", level, got, name)
		}
		if got, ok := wire.ParseCriticality(name); !ok || got != level {
			t.Errorf("%s is %d, %v, want %d", name, got, ok, level)
		}
	}
	for _, level := range []int{-1, 4} {
		if got := wire.CriticalityName(level); got != "" {
			t.Errorf("level %d is %q, want none", level, got)
		}
	}
	if _, ok := wire.ParseCriticality("CRITICAL"); ok {
		t.Error("CRITICAL was accepted: names are lower case")
	}
}

func TestReadingAllocatesNothing(t *testing.T) {
	own, grpc := []byte("97.000123"), []byte("123457u")
	if n := testing.AllocsPerRun(100, func() {
		var to wire.Timeout
		to.Own(string(own))
		to.GRPC(string(grpc))
		if to.Left() != 97*time.Millisecond+123 {
			t.Fatal(to.Left())
		}
	}); n != 0 {
		t.Errorf("%g allocations, want 0", n)
	}
}

func FuzzParseMillis(f *testing.F) {
	for _, s := range []string{"97.000123", "0", "1.", "99999999999999999999", "-1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, ok := wire.ParseMillis(s)
		if !ok {
			return
		}
		if d < 0 {
			t.Fatalf("ParseMillis(%q) = %v", s, d)
		}
		again, ok := wire.ParseMillis(string(wire.AppendMillis(nil, d)))
		if !ok || again != d {
			t.Fatalf("%q is %v, and %v when written and read again", s, d, again)
		}
	})
}
