package analysis

import (
	"strings"
	"testing"
	"time"

	"knee/generator/record"
)

// readings are those of a run of so many windows, each of which took this.
func readings(windows int, r record.Reading) []record.Reading {
	var all []record.Reading
	for i := range windows {
		r.At, r.For = time.Duration(i+1)*record.Window, record.Window
		all = append(all, r)
	}
	return all
}

// of returns a share of a window.
func of(share float64) time.Duration { return time.Duration(share * float64(record.Window)) }

func TestGeneratorVerdict(t *testing.T) {
	two := wall()
	two.CPUs, two.Machine.Descriptors, two.Machine.Ports = 2, some(100), some(1000)
	with := func(r record.Reading) Meta {
		m := two
		m.Readings = readings(10, r)
		return m
	}
	virtual := with(record.Reading{CPU: of(2), Descriptors: 100})
	virtual.Run.Clock = Virtual
	short := load(0, 500, 1)
	short.unsent = 0.3
	quick, uneasy, unsent, tardy := load(0, 500, 1), load(0, 500, 1), load(0, 500, 1), load(0, 500, 0.9)
	tardy.lost = record.Late
	quick.lag, uneasy.lag, unsent.unsent = 2*time.Millisecond, 12*time.Millisecond, 0.01
	for name, c := range map[string]struct {
		s       stretch
		m       Meta
		verdict string
		valid   bool
		say     []string // in the evidence, in order
	}{
		"nobody looked":              {load(0, 500, 1), two, "ok", true, nil},
		"at ease":                    {load(0, 500, 1), with(record.Reading{CPU: of(0.8), ThreadRan: of(0.4), ThreadWaited: of(0.2)}), "ok", true, nil},
		"pauses that delay nothing":  {load(0, 500, 1), with(record.Reading{CPU: of(0.8), GCPause: 9 * time.Millisecond}), "ok", true, nil},
		"all CPUs full":              {load(0, 500, 1), with(record.Reading{CPU: of(1.95)}), "limited", false, []string{"generator limited: no CPU left, 98% of the 2 CPUs"}},
		"the loop full":              {load(0, 500, 1), with(record.Reading{CPU: of(0.97), ThreadRan: of(0.96)}), "limited", false, []string{"no CPU left, its busiest thread ran 96% of the time"}},
		"the loop full, of waiting":  {load(0, 500, 1), with(record.Reading{CPU: of(0.5), ThreadRan: of(0.4), ThreadWaited: of(0.56)}), "limited", false, []string{"ran 40% of the time, and waited 56%"}},
		"starved, and all is well":   {load(0, 500, 1), with(record.Reading{CPU: of(0.4), ThreadRan: of(0.3), ThreadWaited: of(0.45)}), "suspect", true, []string{"waited for a CPU for 45% of the time"}},
		"starved, and answers late":  {tardy, with(record.Reading{CPU: of(0.4), ThreadRan: of(0.3), ThreadWaited: of(0.45)}), "limited", false, []string{"generator limited: it waited for a CPU for 45% of the time, and 10.0% of the answers were late"}},
		"answers late for no reason": {tardy, with(record.Reading{CPU: of(0.4), ThreadRan: of(0.3), ThreadWaited: of(0.2)}), "ok", true, nil},
		"CPUs nearly full":           {load(0, 500, 1), with(record.Reading{CPU: of(1.8)}), "suspect", true, []string{"at 500/s the generator had little CPU left: 90% of the 2 CPUs"}},
		"others on its CPU":          {load(0, 500, 1), with(record.Reading{CPU: of(0.4), ThreadRan: of(0.3), ThreadWaited: of(0.35)}), "suspect", true, []string{"waited for a CPU for 35% of the time"}},
		"late":                       {uneasy, two, "suspect", true, []string{"lag p99 was 12.0 ms, above a twentieth", "where the median answer took 0.05 ms"}},
		"late, for the collector":    {uneasy, with(record.Reading{CPU: of(0.4), GCPause: 8 * time.Millisecond}), "suspect", true, []string{"lag p99", "median answer", "garbage collector stopped the generator for up to 8.0 ms"}},
		"late, for the hypervisor":   {uneasy, with(record.Reading{CPU: of(0.4), ThreadRan: of(0.3), Stolen: of(0.1)}), "suspect", true, []string{"lag p99", "median answer", "the hypervisor had the CPUs do other things for 10.0% of the time of one"}},
		"stolen, and all is well":    {load(0, 500, 1), with(record.Reading{CPU: of(0.4), ThreadRan: of(0.3), Stolen: of(0.1)}), "ok", true, nil},
		"late for so quick a server": {quick, two, "suspect", true, []string{"the lag p99 was 2.00 ms, where the median answer took 0.05 ms"}},
		"a few unsent":               {unsent, two, "suspect", true, []string{"5 of 500 requests were unsent (in_flight)"}},
		"many unsent, for no CPU":    {short, with(record.Reading{CPU: of(0.4), ThreadRan: of(0.5), ThreadWaited: of(0.5)}), "limited", false, []string{"unsent (in_flight)", "the generator had little CPU left: its busiest thread ran 50%"}},
		"descriptors nearly out":     {load(0, 500, 1), with(record.Reading{CPU: of(0.4), Descriptors: 95}), "suspect", true, []string{"95 of 100 descriptors were open"}},
		"ports, with the rest":       {unsent, with(record.Reading{CPU: of(0.4), Connections: 950}), "suspect", true, []string{"unsent", "950 connections were open, of 1000 local ports"}},
		"virtual time has no CPU":    {load(0, 500, 1), virtual, "ok", true, nil},
	} {
		t.Run(name, func(t *testing.T) {
			r := Analyze(madeUp(c.s), c.m)
			g := r.Generator
			if g.Verdict != c.verdict || r.Steps[0].Valid != c.valid {
				t.Errorf("%s, step valid %v (%s); want %s, %v", g.Verdict, r.Steps[0].Valid, r.Steps[0].Why, c.verdict, c.valid)
			}
			if len(g.Evidence) != len(c.say) {
				t.Fatalf("evidence %q, want %q", g.Evidence, c.say)
			}
			for i, want := range c.say {
				if !strings.Contains(g.Evidence[i], want) {
					t.Errorf("evidence %d is %q, want %q", i, g.Evidence[i], want)
				}
			}
			if len(c.say) > 0 && g.Why != g.Evidence[0] {
				t.Errorf("why %q, want the weightiest: %q", g.Why, g.Evidence[0])
			}
		})
	}
}

// What the generator took counts for the step in whose time it was taken.
func TestUseIsThatOfItsStep(t *testing.T) {
	m := wall()
	m.CPUs = 2
	m.Readings = readings(10, record.Reading{CPU: of(0.5), ThreadRan: of(0.2), GCCycles: 1, Memory: 7})
	for i := 5; i < 10; i++ {
		m.Readings[i].CPU, m.Readings[i].GCPause, m.Readings[i].Connections = of(1.99), time.Duration(i)*time.Millisecond, i
	}
	r := Analyze(madeUp(load(0, 100, 1), load(1, 200, 1)), m)
	first, second := r.Steps[0].Generator, r.Steps[1].Generator
	if first == nil || *first.CPUShare != 0.5 || first.GCCycles != 5 || first.GCPauseMS != 0 || first.Connections != 0 || first.MemoryBytes != 7 {
		t.Errorf("the first step: %+v", first)
	}
	if second == nil || *second.CPUShare != 1.99 || second.GCPauseMS != 9 || second.Connections != 9 || *second.ThreadShare != 0.2 {
		t.Errorf("the second step: %+v", second)
	}
	if !r.Steps[0].Valid || r.Steps[1].Valid || !r.Steps[1].Unpunctual() {
		t.Errorf("valid %v and %v: the second had no CPU left", r.Steps[0].Valid, r.Steps[1].Valid)
	}
	m.Readings = m.Readings[:5]
	if u := Analyze(madeUp(load(0, 100, 1), load(1, 200, 1)), m).Steps[1].Generator; u != nil {
		t.Errorf("a step that nobody looked at: %+v", u)
	}
}

// Where a load could not be offered, nothing is claimed of it or beyond it.
func TestNothingIsClaimedBeyondWhatWasOffered(t *testing.T) {
	var all []stretch
	for _, s := range curve() {
		if s.rate >= 2000 {
			s.lag = 50 * time.Millisecond
		}
		all = append(all, s)
	}
	r := Analyze(madeUp(all...), wall())
	if r.Knee.Verdict != "generator_limited" || r.Knee.RPS != nil {
		t.Errorf("knee %s at %v, want generator_limited: 900/s was good and nothing beyond was offered", r.Knee.Verdict, r.Knee.RPS)
	}
	if r.Plateau.Verdict == "plateau" || r.Plateau.MinRetention != nil {
		t.Errorf("plateau %+v, of loads that were not offered", r.Plateau)
	}
	if g := r.Generator; g.Verdict != "limited" || g.CeilingRPS == nil || *g.CeilingRPS != 900 {
		t.Errorf("generator %+v, want limited with a ceiling of 900/s", g)
	}

	all = curve()
	all[5].lag = 50 * time.Millisecond // 11x alone
	r = Analyze(madeUp(all...), wall())
	if r.Knee.Verdict != "found" || *r.Knee.RPS < 950 {
		t.Errorf("knee %s, want found: the loads around it were offered", r.Knee.Verdict)
	}
	if r.Plateau.TestedToX == nil || *r.Plateau.TestedToX > 4.3 || r.Plateau.Verdict != "generator_limited" {
		t.Errorf("plateau %s to %v of the knee, want generator_limited at 4", r.Plateau.Verdict, show(r.Plateau.TestedToX))
	}

	all[1].lag, all[5].lag = 50*time.Millisecond, 0 // one in the middle, by a disturbance
	if g := Analyze(madeUp(all...), wall()).Generator; g.Verdict != "limited" || g.CeilingRPS != nil {
		t.Errorf("generator %+v, want limited and no ceiling: higher loads were offered", g)
	}
}

func show(v *float64) any {
	if v == nil {
		return nil
	}
	return *v
}
