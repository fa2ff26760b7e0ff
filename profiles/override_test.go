package profiles

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

const forOverrides = `target:
  protections:
    - {kind: queue_bound, wait: 50ms}
    - {kind: deadline}
client: {timeout: 1s, deadline: 3s}
load:
  phases:
    - {kind: hold, rate: 0.7x, for: 10s}
    - {kind: spike, rate: 3x, for: 5s}
`

// TestOverrides: a flag does what the same line in the file would have done.
func TestOverrides(t *testing.T) {
	seed := uint64(1<<64 - 1)
	for _, c := range []struct {
		name, want string // want is a profile
		o          Overrides
	}{
		{"set", `seed: 7
target:
  protections:
    - {kind: queue_bound, wait: 20ms}
    - {kind: deadline, allowance: mean}
  service: {mean: 5ms}
client: {timeout: 200ms, deadline: 3s, classes: [{name: a}]}
load:
  phases:
    - {kind: hold, rate: 0.7x, for: 10s}
    - {kind: spike, rate: 2x, for: 5s}
checks: [plateau >= 0.5]
`, Overrides{Set: []string{
			"seed=7", "client.timeout=200ms", "target.protections.0.wait=20ms", "load.phases.1.rate=2x",
			"target.protections.1={kind: deadline, allowance: mean}", "target.service.mean=5ms",
			"client.classes=[{name: a}]", "checks=[plateau >= 0.5]",
		}}},
		{"last set wins", "seed: 3\n" + forOverrides, Overrides{Set: []string{"seed=2", "seed=3"}}},
		{"protect", `target:
  protections:
    - {kind: limit, limit: 50}
    - {kind: queue_bound, wait: 20ms, count: 100}
    - {kind: deadline}
client: {timeout: 1s, deadline: 3s}
load:
  phases:
    - {kind: hold, rate: 0.7x, for: 10s}
    - {kind: spike, rate: 3x, for: 5s}
`, Overrides{Protect: "limit:limit=50+queue_bound:wait=20ms,count=100 + deadline"}},
		{"protect with mappings and knobs of knobs", `target:
  protections:
    - {kind: test_needy, weights: {a: 0.9, b: 1e+2}, backoff: {base: 1s, jitter: 'x,y+z'}, name: "p+q, r", share: 1e+3}
    - {kind: test_needy, weights: {a: 0.5, b.c: 2}, levels: [1, 2]}
client: {timeout: 1s, deadline: 3s}
load:
  phases:
    - {kind: hold, rate: 0.7x, for: 10s}
    - {kind: spike, rate: 3x, for: 5s}
`, Overrides{Protect: `test_needy:weights.a=0.9,weights.b=1e+2,backoff={base: 1s, jitter: 'x,y+z'},name="p+q, r",share=1e+3+test_needy:weights={a: 0.5, b.c: 2},levels=[1, 2]`}},
		{"protect none", `target: {}
client: {timeout: 1s, deadline: 3s}
load:
  phases:
    - {kind: hold, rate: 0.7x, for: 10s}
    - {kind: spike, rate: 3x, for: 5s}
`, Overrides{Protect: "none"}},
		{"timeout returns the deadline to its default", `target:
  protections:
    - {kind: queue_bound, wait: 50ms}
    - {kind: deadline}
client: {timeout: 50ms}
load:
  phases:
    - {kind: hold, rate: 0.7x, for: 10s}
    - {kind: spike, rate: 3x, for: 5s}
`, Overrides{Timeout: 50 * time.Millisecond}},
		{"seed", "seed: 18446744073709551615\n" + forOverrides, Overrides{Seed: &seed}},
		{"nothing", forOverrides, Overrides{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := mustLoad(t, forOverrides, c.o)
			want := mustLoad(t, c.want, Overrides{})
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if p := mustLoad(t, forOverrides, Overrides{Order: "lifo"}); p.Target.Order.Kind != "lifo" {
		t.Errorf("order is %s, want lifo", p.Target.Order.Kind)
	}
	p := mustLoad(t, forOverrides, Overrides{URL: true})
	if p.Target != nil || p.Capacity() != 0 {
		t.Errorf("with another server there is still a target: %+v", p.Target)
	}
	if _, err := p.Server(); err == nil {
		t.Error("a profile without a target has a server")
	}
	mustLoad(t, "load: {phases: [{kind: hold, rate: 2x, for: 1s}]}\n", Overrides{Capacity: 50})
}

func TestOverrideFaults(t *testing.T) {
	for _, c := range []struct {
		name string
		o    Overrides
		want []string
	}{
		{"no unit", Overrides{Set: []string{"client.timeout=5"}}, []string{`--set client.timeout: client.timeout is 5, which has no unit: want a duration …`}},
		{"no value", Overrides{Set: []string{"client.timeout="}}, []string{`--set client.timeout: client.timeout is empty: want a duration …`}},
		{"unknown key", Overrides{Set: []string{"client.tiemout=5s"}}, []string{`--set client.tiemout: unknown key "tiemout" in client; did you mean "timeout"?: …`}},
		{"unknown section", Overrides{Set: []string{"clinet.timeout=5s"}}, []string{`--set clinet.timeout: unknown key "clinet"; did you mean "client"?: …`}},
		{"no assignment", Overrides{Set: []string{"seed", "=5"}}, []string{
			`--set seed: not an assignment: want PATH=VALUE, such as client.timeout=200ms`,
			`--set : not an assignment: want PATH=VALUE, …`,
		}},
		{"no such index", Overrides{Set: []string{"target.protections.2.wait=5ms", "load.phases.x.rate=5", "load.phases.-1.rate=5"}}, []string{
			`--set target.protections.2.wait: "2" is no index of target.protections: want 0 to 1`,
			`--set load.phases.x.rate: "x" is no index of load.phases: want 0 to 1`,
			`--set load.phases.-1.rate: "-1" is no index of load.phases: want 0 to 1`,
		}},
		{"beyond a value", Overrides{Set: []string{"client.timeout.x=5"}}, []string{`--set client.timeout.x: client.timeout is "1s": want a path that ends there`}},
		{"empty name", Overrides{Set: []string{"client..x=5"}}, []string{`--set client..x: an empty name in the path: want names and indices joined by dots`}},
		{"not YAML", Overrides{Set: []string{"client.classes=["}}, []string{`--set client.classes: "[" is not YAML: …`}},
		{"knob of the chain", Overrides{Protect: "queue_bound:wait=20"}, []string{`--protect: target.protections.0.wait is 20, which has no unit: …`}},
		{"unknown protection", Overrides{Protect: "deadlin"}, []string{`--protect: unknown protection "deadlin"; did you mean "deadline"?: known are …`}},
		{"unknown knob", Overrides{Protect: "limit:limit=5,wait=5ms"}, []string{`--protect: unknown key "wait" in target.protections.0: known are kind, limit, rate, time, partitions, partition_by, strict`}},
		{"knob out of range", Overrides{Protect: "limit:limit=0"}, []string{`--protect: target.protections.0.limit is 0: want …`}},
		{"required knob", Overrides{Protect: "limit"}, []string{`--protect: target.protections.0.limit is 0: want …`}},
		{"empty name in the chain", Overrides{Protect: "limit:limit=5+"}, []string{`--protect: a name is missing in "": want NAME[:knob=value,…], joined by +`}},
		{"no knob", Overrides{Protect: "limit:5"}, []string{`--protect: "5" is not a knob of limit: want NAME[:knob=value,…]`}},
		{"knob twice", Overrides{Protect: "limit:limit=5,limit=6"}, []string{`--protect: knob limit of limit is given twice: want it once`}},
		{"none in a chain is a protection", Overrides{Protect: "none+zebra"}, []string{`--protect: unknown protection "zebra": known are …`}},
		{"knob within a value", Overrides{Protect: "test_needy:backoff=5,backoff.base=5s"}, []string{`--protect: knob backoff.base of test_needy is given twice: want it once`}},
		{"brackets that stay open", Overrides{Protect: "test_needy:weights={a: 1"}, []string{`--protect: "{a: 1" is not YAML: …: want a value in YAML, such as {a: 0.9}`}},
		{"unknown order", Overrides{Order: "fairr"}, []string{`--order: unknown order "fairr"; did you mean "fair"?: known are …`}},
		{"order without a name", Overrides{Order: ":x=5"}, []string{`--order: a name is missing in ":x=5": …`}},
		{"protections of another server", Overrides{URL: true, Protect: "none", Order: "lifo"}, []string{
			`--protect: another server is driven: want it without --url: it changes the built-in server`,
			`--order: another server is driven: …`,
		}},
		{"timeout", Overrides{Timeout: -time.Second}, []string{`--timeout: client.timeout is -1s, which is below 0: …`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(forOverrides, c.o)
			wantFaults(t, err, c.want...)
		})
	}
	_, err := load("load: {phases: [{kind: hold, rate: 1, for: 1s}]}\n", Overrides{Protect: "none"})
	wantFaults(t, err, `--protect: p.yaml has no target: want a profile with one: it changes the built-in server`)
}

// TestOverridesAndFile: the faults of the file come first, those of flags last.
func TestOverridesAndFile(t *testing.T) {
	_, err := load("nmae: x\n"+small, Overrides{Set: []string{"seed=x"}, Protect: "zebra"})
	wantFaults(t, err,
		`p.yaml:1:1: unknown key "nmae"; …`,
		`--protect: unknown protection "zebra": known are …`,
		`--set seed: seed is "x": want a whole number of at least 0`,
	)
}

// TestChain: what a profile prints of its chain, --protect reads back.
func TestChain(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, err := load(anyProfile(t), Overrides{})
		if err != nil {
			t.Fatal(err)
		}
		again, err := load(string(p.YAML()), Overrides{Protect: p.Chain(), Order: p.Target.Order.String()})
		if err != nil {
			t.Fatalf("%s: %v", p.Chain(), err)
		}
		if p.Chain() == "none" {
			p.Target.Protections = nil // one that refuses nobody, or none at all
		}
		if diff := cmp.Diff(p, again); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", p.Chain(), diff)
		}
	})
	p := mustLoad(t, small, Overrides{Protect: "test_needy:weights={a: 0.9},backoff.base=1s+limit:limit=5"})
	if got, want := p.Chain(), "test_needy:weights={a: 0.9},backoff={base: 1s, jitter: full}+limit:limit=5"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
