package plateau_test

import (
	"math"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"knee/analysis/knee"
	"knee/analysis/plateau"
)

func judge(points []knee.Point) (knee.Result, plateau.Result) {
	k := knee.Find(points, knee.Options{})
	return k, plateau.Judge(points, k, plateau.Options{})
}

// check compares what was found with the truth, whose rates are scaled by unit.
func (c truth) check(t interface {
	Helper()
	Errorf(string, ...any)
}, points []knee.Point, unit float64,
) {
	t.Helper()
	k, p := judge(points)
	if p.Verdict != c.verdict {
		t.Errorf("verdict %s, want %s: %s; %+v", p.Verdict, c.verdict, p.Why, k)
	}
	want := c.knee * unit
	if math.Abs(k.RPS-want) > c.tolerance*want {
		t.Errorf("knee %g, want %g within %g: %+v", k.RPS, want, c.tolerance, k)
	}
	if k.RPS > 0 && (k.Low > k.RPS || k.High < k.RPS) {
		t.Errorf("knee %g is outside of its interval [%g, %g]", k.RPS, k.Low, k.High)
	}
	if next := c.next * unit; math.Abs(k.Next-next) > 0.06*next {
		t.Errorf("next knee %g, want %g", k.Next, next)
	}
	if at := c.at * unit; at > 0 && k.Saturation != at {
		t.Errorf("saturation %g, want %g", k.Saturation, at)
	}
	if got := slices.Contains(k.Flags, knee.Soft); c.soft && !got {
		t.Errorf("flags %v, want soft", k.Flags)
	}
}

func TestTruths(t *testing.T) {
	cases := truths()
	if len(cases) < 47 {
		t.Fatalf("%d cases", len(cases))
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) { c.check(t, c.points, 1) })
	}
}

// TestInvariances: what must not change the answer does not.
func TestInvariances(t *testing.T) {
	cases := truths()
	rapid.Check(t, func(t *rapid.T) {
		c := rapid.SampledFrom(cases).Draw(t, "case")
		unit := math.Pow(10, rapid.Float64Range(-3, 6).Draw(t, "log unit"))
		points := rapid.Permutation(c.points).Draw(t, "order")
		if rapid.Bool().Draw(t, "twice") {
			points = slices.Concat(points, points)
		}
		for i := range points {
			points[i].Offered *= unit
			points[i].Goodput *= unit
			points[i].Intended *= unit
		}
		// Points that say nothing.
		points = append(
			points, knee.Point{}, knee.Point{Offered: math.NaN(), Goodput: 1}, knee.Point{Offered: 1, Goodput: math.Inf(1)},
			knee.Point{Offered: -unit, Goodput: unit}, knee.Point{Offered: unit, Goodput: -unit},
		)
		c.check(t, points, unit)
	})
}

// TestHealthyPointsDoNotMoveTheKnee: a plateau that goes on is the same.
func TestHealthyPointsDoNotMoveTheKnee(t *testing.T) {
	for _, c := range truths() {
		if c.verdict != plateau.Plateau && c.verdict != plateau.RangeShort {
			continue
		}
		before, _ := judge(c.points)
		top := slices.MaxFunc(c.points, func(a, b knee.Point) int { return int(math.Copysign(1, a.Offered-b.Offered)) })
		points := slices.Clone(c.points)
		for _, x := range []float64{1.3, 1.9, 2.7, 6, 20} {
			points = append(points, knee.Point{Offered: x * max(top.Offered, 4*c.knee), Goodput: top.Goodput})
		}
		after, p := judge(points)
		if p.Verdict != plateau.Plateau || math.Abs(after.RPS-before.RPS) > max(0.02, c.tolerance/2)*before.RPS {
			t.Errorf("%s: knee %g, then %g and %s", c.name, before.RPS, after.RPS, p.Verdict)
		}
	}
}

// TestShorterIsNoCollapse: without its last point a plateau is at worst short,
// also on curves of no known form.
func TestShorterIsNoCollapse(t *testing.T) {
	for _, c := range truths() {
		points := slices.Clone(c.points)
		slices.SortStableFunc(points, func(a, b knee.Point) int { return int(math.Copysign(1, a.Offered-b.Offered)) })
		_, p := judge(points)
		for p.Verdict == plateau.Plateau || p.Verdict == plateau.RangeShort {
			points = points[:len(points)-1]
			if _, p = judge(points); p.Verdict == plateau.Collapse {
				t.Errorf("%s: collapsed at %d points", c.name, len(points))
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		load, capacity := 10.0, rapid.Float64Range(20, 200).Draw(t, "capacity")
		n := rapid.IntRange(5, 20).Draw(t, "n")
		points := make([]knee.Point, n)
		for i := range points {
			load *= rapid.Float64Range(1.1, 2).Draw(t, "ratio")
			points[i] = knee.Point{Offered: load, Goodput: min(load, capacity*rapid.Float64Range(0.6, 1.4).Draw(t, "noise"))}
		}
		_, all := judge(points)
		_, short := judge(points[:n-1])
		if all.Verdict == plateau.Plateau && short.Verdict == plateau.Collapse {
			t.Fatalf("plateau %+v became %+v", all, short)
		}
	})
}

func TestAnyInput(t *testing.T) {
	number := rapid.OneOf(rapid.Float64(), rapid.Float64Range(0, 1000), rapid.SampledFrom([]float64{0, math.NaN(), math.Inf(1), math.Inf(-1), math.SmallestNonzeroFloat64, math.MaxFloat64}))
	rapid.Check(t, func(t *rapid.T) {
		points := make([]knee.Point, rapid.IntRange(0, 12).Draw(t, "n"))
		for i := range points {
			points[i] = knee.Point{
				Offered: number.Draw(t, "offered"), Goodput: number.Draw(t, "goodput"), Intended: number.Draw(t, "intended"),
				Sent: rapid.Uint64Range(0, 5).Draw(t, "sent"), Good: rapid.Uint64Range(0, 5).Draw(t, "good"),
				Growing: rapid.Bool().Draw(t, "growing"), Limited: rapid.Bool().Draw(t, "limited"),
			}
		}
		k, p := judge(points)
		for _, v := range []float64{k.RPS, k.Low, k.High, k.Next, k.Saturation, k.Baseline, k.Noise, k.MaxTested, p.MinRetention, p.TestedToX, p.CollapseRPS} {
			if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
				t.Fatalf("%g in %+v %+v", v, k, p)
			}
		}
		if k.Verdict == "" || p.Verdict == "" || k.Why == "" || p.Why == "" {
			t.Fatalf("no verdict or no why in %+v %+v", k, p)
		}
		if (k.RPS > 0) != (k.Verdict == knee.Found || k.Verdict == knee.Inversion) {
			t.Fatalf("knee %g with verdict %s", k.RPS, k.Verdict)
		}
	})
}

func TestRetentionIsOfThePlateau(t *testing.T) {
	_, p := judge(along(usualGrid, 800, rejecting(800, 0.005)))
	last := p.Retention[len(p.Retention)-1]
	if want := (1 - 10.1*0.005) / (1 - 0.005); math.Abs(last.Retention-want) > 0.002 || math.Abs(last.X-10.1) > 0.01 {
		t.Errorf("retention %+v at the end, want %.4f at 10.1", last, want)
	}
	if p.MinRetention != last.Retention || p.CollapseRPS != 0 {
		t.Errorf("least retention %g and collapse at %g", p.MinRetention, p.CollapseRPS)
	}
}

func TestCollapseIsTheFirstLoadBelowHalf(t *testing.T) {
	_, p := judge(along(usualGrid, 800, rejecting(800, 0.1)))
	if want := 6.5 * 800; math.Abs(p.CollapseRPS-want) > 1 { // half is left at 4400
		t.Errorf("collapse at %g, want %g", p.CollapseRPS, want)
	}
}
