package search_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"knee/analysis/knee"
	"knee/analysis/plateau"
	"knee/analysis/stat"
	"knee/generator/search"
)

// outcome is what a search did and found.
type outcome struct {
	*search.Search
	knee    knee.Result
	plateau plateau.Result
	trials  []search.Trial
	over    time.Duration // what the last trial took beyond the budget, had the server drained at once
}

// drive runs a search against a server.
func drive(t interface{ Fatal(...any) }, o search.Options, s server, seed uint64) outcome {
	o.Seed = seed
	c, err := search.New(o)
	if err != nil {
		t.Fatal(err)
	}
	out := outcome{Search: c}
	r := rand.New(rand.NewPCG(seed, 1))
	for {
		trial, ok := c.Next()
		if !ok {
			break
		}
		seen := s.run(trial, r)
		least := trial.Settle + trial.Measure + o.Timeout + o.Grace
		seen.Elapsed = max(seen.Elapsed, least)
		out.over = c.Spent() + least - c.Budget()
		out.trials = append(out.trials, trial)
		c.Observe(trial, seen)
		if len(out.trials) > 500 {
			t.Fatal("the search does not end")
		}
	}
	out.knee, out.plateau = c.Result()
	return out
}

// The options that a declared capacity of a built-in server, and an unknown
// server, are searched with.
var (
	declared = search.Options{Guess: 1000, Timeout: 100 * time.Millisecond, Grace: 200 * time.Millisecond, Resettable: true}
	quick    = search.Options{Guess: 1000, Timeout: 100 * time.Millisecond, Grace: 200 * time.Millisecond, Resettable: true, Budget: 16 * time.Second}
	unknown  = search.Options{Timeout: 100 * time.Millisecond, Grace: 200 * time.Millisecond}
	guessed  = search.Options{Timeout: 100 * time.Millisecond, Grace: 200 * time.Millisecond, Guess: 200}
	capped   = search.Options{Timeout: 100 * time.Millisecond, Grace: 200 * time.Millisecond, Max: 400}
)

func quiet(f func(load, scale float64) float64) func() server {
	return func() server { return &curve{goodput: f, jitter: 0.01} }
}

func noisy(f func(load, scale float64) float64) func() server {
	return func() server { return &curve{goodput: f, jitter: 0.03, bursts: 0.04} }
}

// TestShareNearTheKnee holds how often a search ends near the truth. Noisy
// servers are disturbed in 9 % of their trials.
func TestShareNearTheKnee(t *testing.T) {
	cases := map[string]struct {
		options  search.Options
		server   func() server
		from, to float64 // of a right answer
		share    float64
		verdict  string // of the plateau
		judged   float64
	}{
		"hinge":                       {declared, quiet(hinge(1000)), 950, 1050, 0.98, plateau.Plateau, 0.98},
		"hinge, noisy":                {declared, noisy(hinge(1000)), 950, 1050, 0.85, plateau.Plateau, 0.6},
		"hinge, quick":                {quick, quiet(hinge(1000)), 950, 1050, 0.92, plateau.Plateau, 0.85},
		"hinge, quick and noisy":      {quick, noisy(hinge(1000)), 900, 1100, 0.85, plateau.Plateau, 0.4},
		"hinge, declared far too low": {declared, quiet(hinge(5300)), 5035, 5565, 0.98, plateau.Plateau, 0.98},
		"hinge, far too high":         {declared, quiet(hinge(90)), 85, 95, 0.9, plateau.Plateau, 0.8},
		"hinge, unknown":              {unknown, quiet(hinge(777)), 738, 816, 0.95, plateau.Plateau, 0.95},
		"hinge, unknown and small":    {unknown, quiet(hinge(14)), 11.9, 16.1, 0.85, plateau.Plateau, 0.6},
		"costly no, noisy":            {declared, noisy(costly(1000, 0.2)), 950, 1050, 0.78, plateau.Collapse, 0.98},
		"costly no, unknown":          {unknown, quiet(costly(1000, 0.02)), 950, 1050, 0.95, plateau.Decline, 0.98},
		"deadline, noisy":             {declared, noisy(deadline(1000, 0.1)), 856, 1004, 0.8, plateau.Collapse, 0.95},
		"cliff":                       {declared, quiet(cliff(1000)), 920, 1030, 0.92, plateau.Collapse, 0.98},
		"burst of 40, unknown":        {unknown, func() server { return &bucket{200, 40} }, 190, 210, 0.92, plateau.Plateau, 0.95},
		"burst of 40, declared":       {guessed, func() server { return &bucket{200, 40} }, 190, 210, 0.85, plateau.Plateau, 0.95},
		// Four workers of 20 ms: with random arrivals 95 % is good up to 182/s.
		"no refusals, unknown":  {unknown, func() server { return &fifo{workers: 4, service: 0.02, timeout: 0.1, constant: true} }, 165, 205, 0.88, plateau.Collapse, 0.98},
		"no refusals, declared": {guessed, func() server { return &fifo{workers: 4, service: 0.02, timeout: 0.1, constant: true} }, 165, 205, 0.88, plateau.Collapse, 0.98},
		"no refusals, capped":   {capped, func() server { return &fifo{workers: 4, service: 0.02, timeout: 0.1, constant: true} }, 165, 205, 0.88, plateau.Collapse, 0.98},
		"generator ends at 3x":  {declared, func() server { return &curve{goodput: hinge(1000), ceiling: 3000, jitter: 0.01} }, 950, 1050, 0.98, plateau.GeneratorLimited, 0.98},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			runs := 200
			if strings.HasPrefix(name, "no refusals") || strings.HasPrefix(name, "burst") {
				runs = 60
			}
			near, judged := 0, 0
			verdicts := map[string]int{}
			var found []float64
			for seed := range runs {
				o := drive(t, c.options, c.server(), uint64(seed))
				if o.knee.Verdict == knee.Found && o.knee.RPS >= c.from && o.knee.RPS <= c.to {
					near++
				}
				if o.plateau.Verdict == c.verdict {
					judged++
				}
				if o.over > 0 {
					t.Errorf("seed %d: began a trial that did not fit, by %v", seed, o.over)
				}
				if o.Why() == "" {
					t.Errorf("seed %d: does not say why it ended", seed)
				}
				verdicts[o.knee.Verdict+", "+o.plateau.Verdict]++
				found = append(found, o.knee.RPS)
			}
			if got := float64(near) / float64(runs); got < c.share {
				t.Errorf("%.3f of the knees in [%g, %g], want %.2f; median %.4g, %v", got, c.from, c.to, c.share, stat.Median(found), verdicts)
			}
			if got := float64(judged) / float64(runs); got < c.judged {
				t.Errorf("%.3f say %s, want %.2f: %v", got, c.verdict, c.judged, verdicts)
			}
		})
	}
}

// TestNoKnee holds the searches that end without one.
func TestNoKnee(t *testing.T) {
	endless := func() server { return &curve{goodput: hinge(1e9)} }
	cases := map[string]struct {
		options search.Options
		server  func() server
		want    string
		note    string
	}{
		"all good up to the limit":      {search.Options{Max: 200, Timeout: 100 * time.Millisecond}, endless, knee.NoKnee, ""},
		"declared, below the limit":     {search.Options{Guess: 1000, Max: 800, Timeout: 100 * time.Millisecond}, endless, knee.NoKnee, ""},
		"a server that warms up":        {search.Options{Min: 20, Max: 200, Timeout: 100 * time.Millisecond}, func() server { return &cold{n: 200, warm: curve{goodput: hinge(1e9)}} }, knee.NoKnee, "warm-up"},
		"too much already at the limit": {search.Options{Min: 500, Timeout: 100 * time.Millisecond}, quiet(hinge(100)), knee.BelowRange, ""},
		"down":                          {declared, quiet(func(_, _ float64) float64 { return 0 }), knee.NoGoodput, ""},
		"down, unknown":                 {unknown, quiet(func(_, _ float64) float64 { return 0 }), knee.NoGoodput, ""},
		"the generator gives up first":  {declared, func() server { return &curve{goodput: hinge(1e9), ceiling: 3000} }, knee.GeneratorLimited, ""},
		"and did so at once":            {declared, func() server { return &curve{goodput: hinge(1e9), ceiling: 1} }, knee.GeneratorLimited, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			for seed := range 50 {
				o := drive(t, c.options, c.server(), uint64(seed))
				if o.knee.Verdict != c.want || o.knee.RPS != 0 || o.plateau.Verdict != c.want {
					t.Fatalf("seed %d: got %s at %g and %s, want %s: %s", seed, o.knee.Verdict, o.knee.RPS, o.plateau.Verdict, c.want, o.knee.Why)
				}
				if notes := strings.Join(o.Notes(), "; "); !strings.Contains(notes, c.note) {
					t.Fatalf("seed %d: no note on %q: %q", seed, c.note, notes)
				}
			}
		})
	}
}

func TestCeilingIsAskedForTwice(t *testing.T) {
	o := drive(t, declared, &curve{goodput: hinge(1e9), ceiling: 3000}, 1)
	n := 0
	for _, trial := range o.trials {
		if trial.Rate > 3060 {
			n++
		}
	}
	if n != 2 {
		t.Errorf("offered %d loads that could not be offered, want 2", n)
	}
	if !strings.Contains(o.Why(), "generator") {
		t.Errorf("ended because %q, want the generator", o.Why())
	}
}

func TestLastLoadIsExact(t *testing.T) {
	o := drive(t, declared, quiet(hinge(1000))(), 3)
	top := slices.MaxFunc(o.trials, func(a, b search.Trial) int { return int(a.Rate - b.Rate) })
	if x := o.plateau.TestedToX; x < 9.8 || top.Stage != search.Retention {
		t.Errorf("tested to %g times the knee in %s, want 10.2 times the upper end in retention", x, top.Stage)
	}
	var within []float64
	for _, trial := range o.trials {
		if trial.Stage == search.Refine {
			within = append(within, trial.Rate)
		}
	}
	if !slices.ContainsFunc(within, func(rate float64) bool { return math.Abs(10.2*rate-top.Rate) < 1e-6 }) {
		t.Errorf("%g is not 10.2 times any of the loads %v", top.Rate, within)
	}
}

func TestCollapsedLoadsComeLast(t *testing.T) {
	o := drive(t, declared, quiet(cliff(1000))(), 5)
	var rates []float64
	for _, trial := range o.trials {
		if trial.Stage == search.Retention {
			rates = append(rates, trial.Rate)
		}
	}
	if len(rates) < 6 || !slices.IsSorted(rates) {
		t.Errorf("loads past a collapse were offered as %v, want at least 6, ascending, once", rates)
	}
}

func TestCertify(t *testing.T) {
	o := declared
	o.Certify = true
	certified, right := 0, 0
	const runs = 40
	for seed := range runs {
		out := drive(t, o, noisy(hinge(1000))(), uint64(seed))
		if isCertified(out) {
			certified++
		}
		if out.knee.RPS > 950 && out.knee.RPS < 1050 {
			right++
		}
		n := 0
		for _, trial := range out.trials {
			if trial.Stage == search.Certify {
				n++
				if trial.Settle < time.Second || trial.Measure < 3*time.Second {
					t.Fatalf("certified by a short trial: %+v", trial)
				}
			}
		}
		if isCertified(out) && n < 16 {
			t.Errorf("certified both ends in %d trials: eight each are the least", n)
		}
	}
	if certified < runs*7/10 || right < runs*9/10 {
		t.Errorf("%d of %d certified and %d right", certified, runs, right)
	}
}

// TestLimits: whatever the options and the server, loads stay within the limits
// and trials within the budget, and the search ends and says why.
func TestLimits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		capacity := math.Exp(rapid.Float64Range(0, 11).Draw(t, "log capacity"))
		o := search.Options{
			Guess:      rapid.SampledFrom([]float64{0, capacity, capacity / 30, capacity * 30}).Draw(t, "guess"),
			Min:        rapid.SampledFrom([]float64{0, 0, 1, capacity / 2}).Draw(t, "min"),
			Max:        rapid.SampledFrom([]float64{0, 0, 2 * capacity, 5 * capacity}).Draw(t, "max"),
			MaxX:       rapid.SampledFrom([]float64{0, 0.5, 2, 3.06, 10.2}).Draw(t, "max x"),
			Budget:     time.Duration(rapid.IntRange(0, 120).Draw(t, "budget")) * time.Second,
			Timeout:    time.Duration(rapid.IntRange(1, 1000).Draw(t, "timeout")) * time.Millisecond,
			Grace:      time.Duration(rapid.IntRange(0, 2000).Draw(t, "grace")) * time.Millisecond,
			Certify:    rapid.Bool().Draw(t, "certify"),
			Resettable: rapid.Bool().Draw(t, "resettable"),
		}
		if o.Max > 0 {
			o.Min = min(o.Min, o.Max)
		}
		f := rapid.SampledFrom([]func(float64) func(load, scale float64) float64{
			hinge, cliff,
			func(c float64) func(load, scale float64) float64 { return costly(c, 0.1) },
			func(c float64) func(load, scale float64) float64 { return deadline(c, 0.1) },
		}).Draw(t, "kind")
		s := &curve{goodput: f(capacity), jitter: 0.05, bursts: 0.1}
		if rapid.Bool().Draw(t, "limited") {
			s.ceiling = capacity * rapid.Float64Range(0.1, 10).Draw(t, "ceiling")
		}
		out := drive(t, o, s, rapid.Uint64().Draw(t, "seed"))
		for _, trial := range out.trials {
			if trial.Rate < o.Min || o.Max > 0 && trial.Rate > o.Max || trial.Measure <= 0 {
				t.Fatalf("trial %+v is outside the limits", trial)
			}
		}
		if out.over > 0 {
			t.Fatalf("began a trial that did not fit, by %v", out.over)
		}
		if n, d := out.Remaining(); out.Why() == "" || n != 0 || d != 0 {
			t.Fatalf("ended because %q with %d trials and %v left", out.Why(), n, d)
		}
		if got := len(out.Points()) + len(out.SetAside()); got != len(out.trials) {
			t.Fatalf("%d points and set aside of %d trials", got, len(out.trials))
		}
	})
}

func TestSameSeedSameSearch(t *testing.T) {
	a := drive(t, declared, noisy(hinge(1000))(), 7)
	b := drive(t, declared, noisy(hinge(1000))(), 7)
	if d := cmp.Diff(a.trials, b.trials); d != "" {
		t.Error(d)
	}
	c := drive(t, declared, noisy(hinge(1000))(), 8)
	if cmp.Equal(a.trials, c.trials) {
		t.Error("another seed gave the same order")
	}
}

func TestPlannedIsPrintedBeforehand(t *testing.T) {
	s, err := search.New(declared)
	if err != nil {
		t.Fatal(err)
	}
	n, d := s.Planned()
	if n < 10 || d < 30*time.Second || d > s.Budget() || s.Budget() > time.Minute {
		t.Errorf("planned %d trials in %v of %v", n, d, s.Budget())
	}
}

func TestNextRepeatsUntilObserved(t *testing.T) {
	s, err := search.New(declared)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := s.Next()
	if b, _ := s.Next(); a != b {
		t.Errorf("asked for %+v and then for %+v", a, b)
	}
	defer func() {
		if recover() == nil {
			t.Error("a trial that was not asked for was observed")
		}
	}()
	a.Rate++
	s.Observe(a, search.Observation{})
}

func TestOptionsAreChecked(t *testing.T) {
	for name, o := range map[string]search.Options{
		"negative guess":  {Guess: -1},
		"infinite max":    {Max: math.Inf(1)},
		"min above max":   {Min: 2, Max: 1},
		"eps too large":   {Eps: 0.6},
		"width too large": {Width: 2},
		"negative budget": {Budget: -1},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := search.New(o); err == nil || !strings.HasPrefix(err.Error(), "search: ") {
				t.Errorf("got error %v", err)
			}
		})
	}
}
