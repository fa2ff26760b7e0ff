package profiles

import (
	"errors"
	"io/fs"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"knee/generator/plan"
	"knee/target/fault"
	"knee/target/server"
	"knee/target/work"
)

const ms = time.Millisecond

// TestCapacity holds what x is a multiple of.
func TestCapacity(t *testing.T) {
	const load = "load: {phases: [{kind: hold, rate: 10, for: 1s}]}\n"
	for _, c := range []struct {
		name, text string
		want       float64
		service    time.Duration // declared to the server
	}{
		{"workers over the mean", "target: {workers: 200, service: {mean: 50ms}}", 4000, 50 * ms},
		{"classes by weight", "target: {service: {mean: 10ms}}\nclient: {classes: [{name: a, weight: 3}, {name: b, service: {mean: 50ms}}]}", 500, 20 * ms},
		{"classes without weight", "target: {service: {mean: 10ms}}\nclient: {classes: [{name: a}, {name: b, weight: 0, service: {mean: 50ms}}]}", 1000, 10 * ms},
		{"classes with phases of their own do not count", "target: {service: {mean: 10ms}}\nclient: {classes: [{name: a}, {name: b, service: {mean: 50ms}, phases: [{kind: hold, rate: 1, for: 1s}]}]}", 1000, 10 * ms},
		{"batch of 20", "target: {workers: 1, service: {mean: 5us}, batch: {size: 20, overhead: 100us}}", 100_000, 5 * time.Microsecond},
		{"batch of 100", "target: {workers: 1, service: {mean: 5us}, batch: {size: 100, overhead: 100us}}", 166_666.67, 5 * time.Microsecond},
		{"batch of 1000 on two workers", "target: {workers: 2, service: {mean: 5us}, batch: {size: 1000, overhead: 100us}}", 2 * 196_078.43, 5 * time.Microsecond},
		{"degraded answers do not count", "target: {service: {mean: 10ms}, degraded: 0.1}", 1000, 10 * ms},
	} {
		p := mustLoad(t, load+c.text+"\n", Overrides{})
		if got := p.Capacity(); math.Abs(got-c.want) > 1e-7*c.want {
			t.Errorf("%s: capacity is %v, want %v", c.name, got, c.want)
		}
		spec, err := p.Server()
		if err != nil {
			t.Fatal(err)
		}
		if spec.Service != c.service {
			t.Errorf("%s: the server is told a mean of %v, want %v", c.name, spec.Service, c.service)
		}
	}
	const all = `target: {service: {mean: 10ms}}
load: {phases: [{kind: hold, rate: 0, for: 1s}]}
client: {classes: [{name: a, phases: [{kind: hold, rate: 9, for: 1s}]}, {name: b, service: {mean: 30ms}, phases: [{kind: hold, rate: 1, for: 1s}]}]}
`
	if got := mustLoad(t, all, Overrides{}).Capacity(); got != 500 {
		t.Errorf("where all classes have phases of their own the capacity is %v, want 500, each counting as much", got)
	}
}

// TestTarget: what is said about the server reaches it.
func TestTarget(t *testing.T) {
	p := mustLoad(t, small+"", Overrides{Set: []string{"target.degraded=0.5", "target.batch={size: 20, delay: 2ms, overhead: 100us}"}})
	spec, err := p.Server()
	if err != nil {
		t.Fatal(err)
	}
	if want := (server.Batch{Size: 20, Delay: 2 * ms, Overhead: 100 * time.Microsecond}); spec.Batch != want || spec.Degraded != 0.5 {
		t.Errorf("batch %+v, degraded %v; want %+v, 0.5", spec.Batch, spec.Degraded, want)
	}
	if spec, err := mustLoad(t, small, Overrides{}).Server(); err != nil || spec.Batch != (server.Batch{}) || spec.Degraded != 0.2 {
		t.Errorf("by default batch %+v, degraded %v, %v; want none, 0.2", spec.Batch, spec.Degraded, err)
	}
}

// TestClassService: what a class leaves out of its service is as in the target's.
func TestClassService(t *testing.T) {
	p := mustLoad(t, `target: {service: {kind: lognormal, mean: 20ms, cv: 0.5}}
load: {phases: [{kind: hold, rate: 10, for: 1s}]}
client:
  classes:
    - {name: plain, bytes: 100, protected: true}
    - {name: longer, service: {mean: 50ms}}
    - {name: wider, service: {cv: 2}}
    - {name: same, service: {kind: lognormal}}
    - {name: other, service: {kind: constant}}
`, Overrides{})
	want := []work.Spec{
		{},
		{Kind: "lognormal", Mean: 50 * ms, CV: 0.5},
		{Kind: "lognormal", Mean: 20 * ms, CV: 2},
		{Kind: "lognormal", Mean: 20 * ms, CV: 0.5},
		{Kind: "constant", Mean: 20 * ms},
	}
	for i, c := range p.Client.Classes {
		var got work.Spec
		if c.Service != nil {
			got = c.Service.Spec
		}
		if got != want[i] {
			t.Errorf("service of %s is %+v, want %+v", c.Name, got, want[i])
		}
	}
	spec, err := p.PlanSpec(0)
	if err != nil {
		t.Fatal(err)
	}
	if spec.Classes[0].Work != nil || spec.Classes[1].Work == nil || spec.Work == nil {
		t.Errorf("work of the plan %v, of its classes %v and %v; want some, none, some", spec.Work, spec.Classes[0].Work, spec.Classes[1].Work)
	}
	if c := spec.Classes[0]; c.Bytes != 100 || !c.Protected {
		t.Errorf("class %+v, want 100 bytes and protected", c)
	}
	other := mustLoad(t, "target: {}\nload: {phases: [{kind: hold, rate: 10, for: 1s}]}\nclient: {classes: [{name: a, service: {mean: 5ms}}]}\n", Overrides{URL: true})
	if spec, err := other.PlanSpec(0); err != nil || spec.Work != nil || spec.Classes[0].Work != nil {
		t.Errorf("another server is sent work: %+v, %v", spec, err)
	}
}

// TestDeadlines: an original has time for all that the behaviours can do, unless
// the profile says otherwise.
func TestDeadlines(t *testing.T) {
	const load = "load: {phases: [{kind: hold, rate: 10, for: 1s}]}\n"
	for _, c := range []struct {
		name, client string
		all, class   time.Duration
	}{
		{"one attempt", "classes: [{name: a, timeout: 40ms}]", 100 * ms, 40 * ms},
		{"three attempts and two waits", "behaviours: [{kind: test_patient}], classes: [{name: a, timeout: 40ms}]", 400 * ms, 220 * ms},
		{"behaviours within behaviours", "behaviours: [{kind: test_patient, attempts: 2, wait: 0s}, {kind: test_patient}], classes: [{name: a}]", 800 * ms, 800 * ms},
		{"a deadline that is given", "deadline: 1s, behaviours: [{kind: test_patient}], classes: [{name: a, timeout: 40ms}]", time.Second, 940 * ms},
		{"one of a class", "behaviours: [{kind: test_patient}], classes: [{name: a, timeout: 40ms, deadline: 50ms}]", 400 * ms, 50 * ms},
	} {
		p := mustLoad(t, load+"client: {"+c.client+"}\n", Overrides{})
		if got := time.Duration(p.Client.Deadline); got != c.all {
			t.Errorf("%s: deadline is %v, want %v", c.name, got, c.all)
		}
		again := mustLoad(t, string(p.YAML()), Overrides{})
		for _, p := range []*Profile{p, again} {
			if got := p.Classes()[0].Deadline; got != c.class {
				t.Errorf("%s: deadline of the class is %v, want %v", c.name, got, c.class)
			}
		}
	}
	p := mustLoad(t, load+"client: {deadline: 3s, behaviours: [{kind: test_patient}]}\n", Overrides{Timeout: time.Second})
	if got := time.Duration(p.Client.Deadline); got != 3100*ms {
		t.Errorf("after --timeout the deadline is %v, want 3.1s", got)
	}
	if n := len(p.ClientOptions().Behaviours); n != 1 {
		t.Errorf("%d behaviours reach the client, want 1", n)
	}
}

// TestOwnPhases: rates of a class's phases are multiples of the capacity as well.
func TestOwnPhases(t *testing.T) {
	p := mustLoad(t, `target: {}
load:
  arrivals: bursty
  phases:
    - {kind: hold, rate: 0.5x, for: 2s, name: calm}
    - {kind: ramp, to: 1x, for: 2s}
client:
  classes:
    - {name: a}
    - {name: b, phases: [{kind: hold, rate: 0.1x, for: 1s}, {kind: ramp, to: 2x, for: 1s}]}
`, Overrides{})
	spec, err := p.PlanSpec(p.Capacity())
	if err != nil {
		t.Fatal(err)
	}
	want := []plan.Phase{{Kind: plan.Hold, Rate: 100, For: time.Second}, {Kind: plan.Ramp, From: 100, To: 2000, For: time.Second}}
	if diff := cmp.Diff(want, spec.Classes[1].Phases); diff != "" {
		t.Errorf("phases of b (-want +got):\n%s", diff)
	}
	if spec.Classes[0].Phases != nil || spec.Classes[1].Weight != 0 || spec.Phases[0].Name != "calm" {
		t.Errorf("classes %+v of phases %+v", spec.Classes, spec.Phases)
	}
	if want := (plan.Burst{On: 200 * ms, Off: 800 * ms}); spec.Arrivals != plan.Bursty || spec.Burst != want {
		t.Errorf("arrivals are %v, %+v; want bursty, %+v", spec.Arrivals, spec.Burst, want)
	}
	if peak, err := p.Peak(1000); err != nil || peak != 5*3000 {
		t.Errorf("peak is %v, %v; want five times 1000/s and 2000/s", peak, err)
	}
	if _, err := p.PlanSpec(0); err == nil {
		t.Error("a plan without a capacity is made")
	}
	if _, err := p.Workload(); err == nil || !strings.Contains(err.Error(), "client.classes.1, which do not vary with the load: want knee run") {
		t.Errorf("a search may vary the load: %v", err)
	}
}

// TestReplayFile: a replay's file stands beside the profile, is read once, and
// needed no more.
func TestReplayFile(t *testing.T) {
	files := map[string]string{
		"d/p.yaml":         "load: {arrivals: replay, replay: {file: offsets.txt}, phases: [{kind: hold, for: 3s, name: x}]}\n",
		"d/c.yaml":         "load: {arrivals: replay, replay: {file: sub/counts.txt, of: counts, every: 100ms}}\n",
		"d/a.yaml":         "load: {arrivals: replay, replay: {file: /abs.txt}}\n",
		"d/offsets.txt":    "# seconds\n1.5\n\n250ms\r\n  0\n1e-9\n",
		"d/sub/counts.txt": "3\n0\n4\n",
		"/abs.txt":         "1",
	}
	o := Overrides{ReadFile: func(name string) ([]byte, error) {
		text, ok := files[name]
		if !ok {
			return nil, fs.ErrNotExist
		}
		return []byte(text), nil
	}}
	for name, want := range map[string]plan.Replay{
		"d/p.yaml": {Offsets: []time.Duration{1500 * ms, 250 * ms, 0, 1}},
		"d/c.yaml": {Counts: []int{3, 0, 4}, Every: 100 * ms},
		"d/a.yaml": {Offsets: []time.Duration{time.Second}},
	} {
		p, err := Load(name, o)
		if err != nil {
			t.Fatal(err)
		}
		again := mustLoad(t, string(p.YAML()), Overrides{})
		again.Name = p.Name
		if diff := cmp.Diff(p, again); diff != "" {
			t.Errorf("%s without its file (-want +got):\n%s", name, diff)
		}
		spec, err := again.PlanSpec(0)
		if err != nil {
			t.Fatal(err)
		}
		if len(spec.Phases) == 0 {
			t.Errorf("%s: the replay has no phases", name)
		}
		if diff := cmp.Diff(want, spec.Replay); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if _, err := plan.New(spec); err != nil {
			t.Error(err)
		}
		if _, err := p.Workload(); err == nil || !strings.Contains(err.Error(), "no rate to vary: want knee run") {
			t.Errorf("a search may vary the load: %v", err)
		}
	}
	p, err := Load("d/c.yaml", o)
	if err != nil {
		t.Fatal(err)
	}
	if peak, err := p.Peak(0); err != nil || peak != 40 {
		t.Errorf("peak is %v, %v; want 4 in 100ms, 40/s", peak, err)
	}
	if p, _ = Load("d/p.yaml", o); true {
		if peak, err := p.Peak(0); err != nil || peak != 3 {
			t.Errorf("peak is %v, %v; want 3/s, in the first second", peak, err)
		}
	}
	files["d/offsets.txt"] = "x\n1\n-5\n2s 3s\n800h\n1e9\n"
	files["d/sub/counts.txt"] = "1.5\n-1\n"
	files["/abs.txt"] = "# nothing\n"
	files["d/n.yaml"] = "load: {arrivals: replay, replay: {file: none.txt}}\n"
	files["d/b.yaml"] = "load: {arrivals: replay, replay: {file: offsets.txt, of: counst, counts: [1]}}\n"
	for name, want := range map[string][]string{
		"d/p.yaml": {
			`offsets.txt:1:1: the line is "x": want an offset in seconds such as 1.25, or with a unit such as 1250ms, from 0 to below 720h`,
			`offsets.txt:3:1: the line is -5: …`, `offsets.txt:4:1: the line is "2s 3s": …`,
			`offsets.txt:5:1: the line is "800h": …`, `offsets.txt:6:1: the line is 1e9: …`,
		},
		"d/c.yaml": {`sub/counts.txt:1:1: the line is "1.5": want a whole number of arrivals of at least 0`, `sub/counts.txt:2:1: the line is "-1": …`},
		"d/a.yaml": {`/abs.txt: the file has no numbers: want one on each line`},
		"d/n.yaml": {`d/n.yaml:1:41: load.replay.file is "none.txt": want a file that can be read: file does not exist`},
		"d/b.yaml": {
			`d/b.yaml:1:58: load.replay.of is "counst"; did you mean "counts"?: want one of offsets, counts`,
			`d/b.yaml:1:74: load.replay.counts is given beside a file: want one of both`,
		},
	} {
		_, err := Load(name, o)
		wantFaults(t, err, want...)
	}
	many := strings.Repeat("1\n", maxOffsets+1)
	files["d/offsets.txt"] = many
	_, err = Load("d/p.yaml", o)
	wantFaults(t, err, "offsets.txt:40001:1: more than 40000 numbers: want fewer, or counts of longer stretches")
}

// TestLongestReplay: the longest lists still fit a resolved profile.
func TestLongestReplay(t *testing.T) {
	offsets, counts := &Replay{}, &Replay{}
	for i := range maxOffsets {
		offsets.Offsets = append(offsets.Offsets, Duration(719*time.Hour+59*time.Minute+58*time.Second+123456789+time.Duration(i)))
	}
	for range maxCounts {
		counts.Counts = append(counts.Counts, 1_000_000)
	}
	for _, r := range []*Replay{offsets, counts} {
		p := mustLoad(t, "load: {arrivals: replay, replay: {counts: [1]}}\n", Overrides{})
		p.Load.Replay = r
		if n := len(p.YAML()); n > MaxSize {
			t.Errorf("a resolved profile has %d bytes, want at most %d", n, MaxSize)
		}
	}
}

// TestInjections: a fault gets what it is told of the server, and a random
// stream of its own.
func TestInjections(t *testing.T) {
	p := mustLoad(t, small+`client: {classes: [{name: a}, {name: b}]}
faults:
  - {kind: test_injury, at: 1s, for: 2s, ramp: 1s, factor: 5}
  - {kind: test_injury}
  - {kind: test_injury, seed: 7}
  - {kind: test_injury, seed: 7}
`, Overrides{})
	want := Injection{Plugin: Plugin{Kind: "test_injury", Knobs: &injuryKnobs{Factor: 5}}, At: Duration(time.Second), For: Duration(2 * time.Second), Ramp: Duration(time.Second)}
	if diff := cmp.Diff(want, p.Faults[0]); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var draws []uint64
	for i := range p.Faults {
		if layer, numbers := p.Hits(i); layer != 0 || !slices.Equal(numbers, []int{0}) {
			t.Errorf("fault %d hits servers %v of layer %d, want the only one", i, numbers, layer)
		}
		f, err := p.NewFault(i, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		s := f.(injury).setup
		draws = append(draws, s.Rand.Uint64())
		s.Rand = nil
		if diff := cmp.Diff(fault.Setup{Workers: 10, Service: 10 * ms, Classes: []string{"a", "b"}, Ramp: time.Duration(p.Faults[i].Ramp)}, s); diff != "" {
			t.Errorf("setup (-want +got):\n%s", diff)
		}
	}
	if draws[2] != draws[3] {
		t.Error("two faults with one seed draw differently")
	}
	if slices.Sort(draws); len(slices.Compact(draws)) != 3 {
		t.Errorf("faults with different seeds share a stream: %v", draws)
	}
	if p := mustLoad(t, small+"faults: [{kind: test_injury}]\n", Overrides{URL: true}); len(p.Faults) != 1 {
		t.Error("the faults are lost where another server is driven: nobody could refuse them")
	}
}

// TestInjectionsIntoATopology: a fault hits one server, or all that the first
// layer has, each with a random stream of its own.
func TestInjectionsIntoATopology(t *testing.T) {
	p := mustLoad(t, small+`topology: {servers: 3, layers: [{name: db, servers: 2, workers: 4, service: {mean: 5ms}}]}
faults:
  - {kind: test_injury}
  - {kind: test_injury, server: 2}
  - {kind: test_injury, server: db/1, seed: 7}
`, Overrides{})
	draws := map[uint64]bool{}
	for i, want := range []struct {
		layer   int
		numbers []int
		workers int
	}{{0, []int{0, 1, 2}, 10}, {0, []int{2}, 10}, {1, []int{1}, 4}} {
		layer, numbers := p.Hits(i)
		if layer != want.layer || !slices.Equal(numbers, want.numbers) {
			t.Errorf("fault %d hits servers %v of layer %d, want %v of %d", i, numbers, layer, want.numbers, want.layer)
		}
		for _, n := range numbers {
			f, err := p.NewFault(i, layer, n)
			if err != nil {
				t.Fatal(err)
			}
			s := f.(injury).setup
			if s.Workers != want.workers {
				t.Errorf("fault %d is told of %d workers, want %d", i, s.Workers, want.workers)
			}
			draws[s.Rand.Uint64()] = true
		}
	}
	if len(draws) != 5 {
		t.Errorf("5 servers have %d random streams", len(draws))
	}
	_, err := load(small+"topology: {servers: 0}\nfaults: [{kind: test_injury}]\n", Overrides{})
	wantFaults(t, err, `p.yaml:5:21: topology.servers is 0: …`)
	_, err = load(small+"topology: {servers: 3}\nfaults: [{kind: test_injury, server: 3}, {kind: test_injury, server: db/0}]\n", Overrides{})
	wantFaults(t, err,
		`p.yaml:6:38: faults.0.server is 3: want a server of the topology, numbered from 0, such as front/0`,
		`p.yaml:6:70: faults.1.server is db/0: want a server of the topology, …`,
	)
}

// TestReservedKnobs: no fault has a knob with the name of a field of Injection.
func TestReservedKnobs(t *testing.T) {
	for _, info := range fault.Registry.All() {
		if info.Knobs == nil {
			continue
		}
		seen := map[string]bool{"kind": true}
		for _, part := range partsOf(&Injection{Plugin: Plugin{Kind: info.Name, Knobs: info.Knobs()}}) {
			for _, name := range names(fieldsOf(part.Type())) {
				if seen[name] {
					t.Errorf("fault %s has a knob %s, which is a field of every fault", info.Name, name)
				}
				seen[name] = true
			}
		}
	}
}

func TestUnreadableReplay(t *testing.T) {
	o := Overrides{ReadFile: func(name string) ([]byte, error) {
		if name == "x/p.yaml" {
			return []byte("load: {arrivals: replay, replay: {file: secret}}\n"), nil
		}
		return nil, &fs.PathError{Op: "open", Path: name, Err: errors.New("permission denied")}
	}}
	_, err := Load("x/p.yaml", o)
	wantFaults(t, err, `x/p.yaml:1:41: load.replay.file is "secret": want a file that can be read: permission denied`)
}
