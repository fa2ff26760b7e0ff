package paired

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// values returns a block value for each metric: calm ones, but for those given.
func values(change map[string]float64) []float64 {
	calm := map[string]float64{"goodput at 0.95x": 475, "goodput at 10x": 490, "least goodput": 485, "recovery": 0.6, "rejection.q": 0.01, "metastability": 0}
	out := make([]float64, len(Metrics))
	for i, m := range Metrics {
		out[i] = calm[m.Name]
		if v, ok := change[m.Name]; ok {
			out[i] = v
		}
	}
	return out
}

// decide gives a gate blocks of the same kind until it is done.
func decide(g *Gate, block func(i int) Block) map[string]Outcome {
	for i := 0; !g.Done(); i++ {
		g.Add(block(i))
	}
	out := map[string]Outcome{}
	for _, o := range g.Outcomes() {
		out[o.Metric.Name] = o
	}
	return out
}

func TestUnanimousBlocks(t *testing.T) {
	none := math.NaN()
	for name, c := range map[string]struct {
		base, candidate map[string]float64
		metric, verdict string
		blocks          int
	}{
		"the same":                      {nil, nil, "goodput at 0.95x", Pass, 7},
		"a little less":                 {nil, map[string]float64{"goodput at 0.95x": 455}, "goodput at 0.95x", Pass, 7},
		"more":                          {nil, map[string]float64{"goodput at 0.95x": 600}, "goodput at 0.95x", Pass, 7},
		"less":                          {nil, map[string]float64{"goodput at 0.95x": 430}, "goodput at 0.95x", Fail, 14},
		"nothing":                       {nil, map[string]float64{"goodput at 0.95x": 0}, "goodput at 0.95x", Fail, 14},
		"no value":                      {nil, map[string]float64{"goodput at 0.95x": none}, "goodput at 0.95x", Fail, 14},
		"no value before":               {map[string]float64{"goodput at 0.95x": none}, nil, "goodput at 0.95x", Pass, 7},
		"neither":                       {map[string]float64{"recovery": none}, map[string]float64{"recovery": none}, "recovery", NotTested, 7},
		"slower to recover":             {nil, map[string]float64{"recovery": 1}, "recovery", Fail, 14},
		"a window slower":               {nil, map[string]float64{"recovery": 0.8}, "recovery", Pass, 7},
		"never recovers":                {nil, map[string]float64{"recovery": math.Inf(1)}, "recovery", Fail, 14},
		"neither ever recovers":         {map[string]float64{"recovery": math.Inf(1)}, map[string]float64{"recovery": math.Inf(1)}, "recovery", Pass, 7},
		"rejections cost more":          {nil, map[string]float64{"rejection.q": 0.03}, "rejection.q", Fail, 14},
		"rejections cost a little more": {nil, map[string]float64{"rejection.q": 0.014}, "rejection.q", Pass, 7},
		"no more rejections":            {nil, map[string]float64{"rejection.q": none}, "rejection.q", NotTested, 7},
		"stuck":                         {nil, map[string]float64{"metastability": 1}, "metastability", Fail, 14},
	} {
		g := New(Metrics, Options{})
		got := decide(g, func(int) Block { return Block{Base: values(c.base), Candidate: values(c.candidate)} })[c.metric]
		if n, _ := g.Blocks(); got.Verdict != c.verdict || n != c.blocks {
			t.Errorf("%s: %s after %d blocks (%s), want %s after %d", name, got.Verdict, n, got.Why, c.verdict, c.blocks)
		}
	}
}

func TestUnsureBlocks(t *testing.T) {
	less := values(map[string]float64{"goodput at 0.95x": 430})
	g := New(Metrics, Options{})
	got := decide(g, func(i int) Block {
		b := Block{Base: values(nil), Candidate: less}
		if i%2 == 0 {
			b.Candidate = values(nil)
		}
		return b
	})["goodput at 0.95x"]
	if n, _ := g.Blocks(); got.Verdict != Inconclusive || n != 30 || got.Worse != 15 {
		t.Errorf("%s, worse in %d of %d: want inconclusive, 15 of 30", got.Verdict, got.Worse, n)
	}
}

// A machine that is off in every other block is too noisy to pass anything on, and
// that is told before all blocks are spent.
func TestVoidBlocks(t *testing.T) {
	g := New(Metrics, Options{})
	got := decide(g, func(i int) Block {
		b := Block{Base: values(nil), Candidate: values(nil)}
		if i%2 == 0 {
			b.Void = "the machine was off"
		}
		return b
	})
	for name, o := range got {
		if o.Verdict != Inconclusive || !strings.HasPrefix(o.Why, "noisy machine") {
			t.Errorf("%s: %s (%s), want inconclusive: noisy machine", name, o.Verdict, o.Why)
		}
	}
	if n, void := g.Blocks(); n > 20 || len(void) != (n+1)/2 {
		t.Errorf("%d blocks of which %d are void: want an end by then", n, len(void))
	}
}

// With two runs of one build and a coin, no noise makes the candidate worse more
// often than not.
func TestWorseIsOneSided(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := rapid.SampledFrom(Metrics).Draw(t, "metric")
		one := rapid.OneOf(rapid.Float64Range(0, 1000), rapid.Just(0.0), rapid.Just(math.Inf(1)), rapid.Just(math.NaN()))
		a, b := one.Draw(t, "a"), one.Draw(t, "b")
		worse, _ := m.compare(a, b)
		other, _ := m.compare(b, a)
		if worse && other {
			t.Errorf("%s: each of %v and %v is worse than the other", m.Name, a, b)
		}
	})
}

func TestCanary(t *testing.T) {
	c := NewCanary(Speed{"CPU", 0.1}, Speed{"loopback", 0.1})
	for i, step := range []struct {
		speeds []float64
		off    bool
	}{
		{[]float64{100, 50}, false},
		{[]float64{70, 50}, false}, // there is no median yet
		{[]float64{101, 49}, false},
		{[]float64{102, 51}, false},
		{[]float64{85, 50}, true},
		{[]float64{99, 40}, true},
		{[]float64{100, 50}, false},
		{[]float64{130, 50}, true}, // faster is off as well
	} {
		if off := c.Read(step.speeds); (off != "") != step.off {
			t.Errorf("reading %d of %v: %q, want it off %v", i, step.speeds, off, step.off)
		}
	}
}

// A machine is the noise of a shared runner, as it was seen: its speed drifts, it is
// slow for stretches, and a process is fast or slow for as long as it lives.
type machine struct {
	random               *rand.Rand
	drift, bursts, fixed float64 // standard deviation, share of the time, standard deviation
	level                float64
	slow                 bool
}

// run returns the values of one run of a build that does so much of what the baseline does.
func (m *machine) run(speed float64) []float64 {
	const kept = 0.9 // of the drift, from run to run
	m.level = kept*m.level + math.Sqrt(1-kept*kept)*m.drift*m.random.NormFloat64()
	// A stretch goes on for five runs.
	if m.slow {
		m.slow = m.random.Float64() > 0.2
	} else {
		m.slow = m.random.Float64() < 0.2*m.bursts/(1-m.bursts)
	}
	f := speed * math.Exp(m.level+m.fixed*m.random.NormFloat64())
	if m.slow {
		f *= 1 - 0.3*m.random.Float64()
	}
	noisy := func(v, sd float64) float64 { return v * math.Exp(sd*m.random.NormFloat64()) }
	least := 485 * noisy(f, 0.02)
	return values(map[string]float64{
		"goodput at 0.95x": 500 * min(0.95, f*noisy(1, 0.01)),
		"goodput at 10x":   noisy(least, 0.01), "least goodput": least,
		"recovery":    0.2 * math.Ceil(noisy(3, 0.3)/f),
		"rejection.q": noisy(0.01, 0.3) / f,
	})
}

// gates returns the shares of n gates that failed and passed for a candidate of such a
// speed, and how many blocks they took on average.
func gates(n int, speed float64, m machine) (failed, passed, blocks float64) {
	for seed := range n {
		m := m
		m.random = rand.New(rand.NewPCG(uint64(seed), 5))
		g := New(Metrics, Options{})
		overall := Pass
		for !g.Done() {
			b := Block{}
			if m.random.IntN(2) == 0 {
				b.Base = m.run(1)
				b.Candidate = m.run(speed)
			} else {
				b.Candidate = m.run(speed)
				b.Base = m.run(1)
			}
			g.Add(b)
		}
		for _, o := range g.Outcomes() {
			if o.Verdict == Fail {
				overall = Fail
			} else if o.Verdict == Inconclusive && overall == Pass {
				overall = Inconclusive
			}
		}
		k, _ := g.Blocks()
		blocks += float64(k) / float64(n)
		switch overall {
		case Fail:
			failed += 1 / float64(n)
		case Pass:
			passed += 1 / float64(n)
		}
	}
	return failed, passed, blocks
}

var (
	shared = machine{drift: 0.04, bursts: 0.12, fixed: 0.02}
	awful  = machine{drift: 0.10, bursts: 0.25, fixed: 0.04}
)

func TestGatesOfTheSameBuildDoNotFail(t *testing.T) {
	for name, m := range map[string]machine{"shared": shared, "awful": awful} {
		failed, passed, blocks := gates(4000, 1, m)
		t.Logf("%s machine: %.2f%% fail, %.1f%% pass, after %.1f blocks", name, 100*failed, 100*passed, blocks)
		if failed > 0.01 {
			t.Errorf("%s machine: %.2f%% of the gates fail, want at most 1%%", name, 100*failed)
		}
	}
}

func TestGatesOfASlowerBuildFail(t *testing.T) {
	for _, speed := range []float64{0.85, 0.8} {
		failed, passed, blocks := gates(1000, speed, shared)
		t.Logf("%v of the speed: %.1f%% fail, %.2f%% pass, after %.1f blocks", speed, 100*failed, 100*passed, blocks)
		if failed < 0.95 || passed > 0.01 {
			t.Errorf("%v of the speed: %.1f%% of the gates fail, %.2f%% pass; want at least 95%%, at most 1%%", speed, 100*failed, 100*passed)
		}
	}
}
