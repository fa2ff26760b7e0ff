package verdict

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"knee/analysis"
)

func TestParseGuard(t *testing.T) {
	for text, want := range map[string]Guard{
		"abort when goodput < 0.2x for 5s":      {"goodput", "<", Value{0.2, X}, 5 * time.Second},
		"abort  when goodput<100 for 200ms":     {"goodput", "<", Value{100, Rate}, 200 * time.Millisecond},
		"abort when timeout > 50% for 2s":       {"timeout", ">", Value{50, Percent}, 2 * time.Second},
		"abort when unsent >= 10/s for 1s":      {"unsent", ">=", Value{10, Rate}, time.Second},
		"abort when in_flight > 500 for 1m":     {"in_flight", ">", Value{500, NoUnit}, time.Minute},
		" abort when good.p99 > 80ms for 1.2s ": {"good.p99", ">", Value{float64(80 * time.Millisecond), Duration}, 1200 * time.Millisecond},
	} {
		got, err := ParseGuard(text)
		if err != nil || got != want {
			t.Errorf("%s: %+v, %v; want %+v", text, got, err, want)
		}
		if again, err := ParseGuard(got.String()); err != nil || again != got {
			t.Errorf("%s: written as %s, which is %+v, %v", text, got, again, err)
		}
	}
	for text, want := range map[string]string{
		"":                                    "the text ends: want abort when",
		"stop when goodput < 1x for 1s":       `unexpected "stop"`,
		"abort whenever goodput < 1x for 1s":  `unexpected "abort"`,
		"abort when plateau < 0.5 for 1s":     `unknown metric "plateau": want goodput`,
		"abort when goodput below 1x for 1s":  "want one of >=",
		"abort when goodput < 20% for 1s":     "want a rate such as",
		"abort when timeout > 5 for 1s":       "want a percentage",
		"abort when goodput < 1x":             "want for DURATION",
		"abort when goodput < 1x for 1":       "a multiple of 200ms",
		"abort when goodput < 1x for 300ms":   "a multiple of 200ms",
		"abort when goodput < 1x for 11m":     "up to 10m",
		"abort when goodput < 1x for 0s":      "a multiple of 200ms",
		"abort when goodput < 1x for 1s more": `unexpected "more"`,
	} {
		if g, err := ParseGuard(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %+v, %v; want an error with %q", text, g, err, want)
		}
	}
}

func TestGuardsAreMet(t *testing.T) {
	// Five windows of 100 originals each: 20 good, 50 rejected, 30 timed out.
	bad := analysis.Counts{Planned: 100, Sent: 100, Good: 20, Rejected: 50, Timeout: 30}
	lately := Lately{Capacity: 500, InFlight: []int{10, 30, 20, 30, 40}, P99: []time.Duration{90 * time.Millisecond}}
	for range 5 {
		lately.Windows = append(lately.Windows, bad)
	}
	for text, want := range map[string]bool{
		"abort when goodput < 0.25x for 1s":     true, // 100/s of 500
		"abort when goodput < 0.2x for 1s":      false,
		"abort when goodput <= 0.2x for 1s":     true,
		"abort when goodput < 101/s for 1s":     true,
		"abort when good < 21% for 1s":          true,
		"abort when rejected >= 50% for 1s":     true,
		"abort when rejected > 250/s for 1s":    false,
		"abort when timeout > 29% for 1s":       true,
		"abort when late > 0% for 1s":           false,
		"abort when unsent > 0% for 1s":         false,
		"abort when in_flight > 5 for 1s":       true,
		"abort when in_flight > 15 for 1s":      false, // it was not in the first window
		"abort when good.p99 > 80ms for 1s":     true,
		"abort when good.p99 > 100ms for 1s":    false,
		"abort when goodput < 0.25x for 1200ms": false, // so much of the load is not over yet
	} {
		g, err := ParseGuard(text)
		if err != nil {
			t.Fatal(err)
		}
		if met, found := g.Met(lately); met != want {
			t.Errorf("%s: met %v at %v, want %v", text, met, found, want)
		}
	}
}

// Nothing is concluded from nothing.
func TestGuardsOfNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := Guard{Op: rapid.SampledFrom([]string{"<", ">", "<=", ">=", "==", "!="}).Draw(t, "op"), For: time.Second}
		g.Metric = rapid.SampledFrom([]string{"goodput", "good", "timeout", "unsent", "good.p99", "in_flight"}).Draw(t, "metric")
		g.Value = Value{rapid.Float64Range(0, 10).Draw(t, "value"), rapid.SampledFrom([]Unit{X, Rate, Percent}).Draw(t, "unit")}
		if met, found := g.Met(Lately{Windows: make([]analysis.Counts, 5), Capacity: 100}); met {
			t.Errorf("%v is met at %v when nothing was offered", g, found)
		}
	})
}
