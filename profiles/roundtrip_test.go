package profiles

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
	"pgregory.net/rapid"
)

// anyProfile draws the text of a valid profile.
func anyProfile(t *rapid.T) string {
	pick := func(label string, of ...string) string { return rapid.SampledFrom(of).Draw(t, label) }
	text := rapid.StringMatching(`[ -~äé漢]{1,20}`)
	quoted := func(label string) string {
		b, _ := json.Marshal(text.Draw(t, label))
		return string(b)
	}
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format, args...) }
	p("name: %s\ndoc: %s\nseed: %d\n", quoted("name"), quoted("doc"), rapid.Uint64().Draw(t, "seed"))
	p("target:\n  workers: %d\n", rapid.IntRange(1, 50).Draw(t, "workers"))
	p("  service: {%s}\n", pick("service", "mean: 1.5ms", "kind: bimodal, mean: 20ms, slow_share: 0.25", "kind: lognormal, cv: 1.5, cpu: true", "kind: pareto, alpha: 3"))
	batch := pick("batch", "", "  batch: {size: 7}\n", "  batch: {size: 2, delay: 1.5ms, overhead: 100us}\n")
	if strings.Contains(b.String(), "cpu: true") {
		batch = ""
	}
	p("  order: {kind: %s}\n", pick("order", "fifo", "lifo"))
	p("  protections: [%s]\n", strings.Join(rapid.SliceOfN(rapid.SampledFrom([]string{
		"{kind: none}", "{kind: queue_bound, wait: 50ms, cost: 1.5}", "{kind: deadline, slack: 1ms}", "{kind: limit, limit: 7}",
		"{kind: rate, rate: 0.1}", "{kind: test_needy, wait: 1h1ns, share: 1e-9, whole: 255, on: true, name: '007', rate: 2.5/m, levels: [3, -1]}",
		"{kind: test_needy, tried: [], ratio: 0.5}", "{kind: test_needy, tried: [c], ratio: 0}", "{kind: test_needy, backoff: {base: 1m, jitter: 'a, {b}+c'}}", "{kind: test_needy, weights: {b: 2, 'a: {}': 0.5, '': 1, '007': 1}}",
	}), 0, 3).Draw(t, "protections"), ", "))
	p("  shed_at: %s\n  reject_cost: %v\n", pick("shed_at", "headers", "handler", "late"), rapid.Float64Range(0, 1).Draw(t, "reject_cost"))
	p("  degraded: %v\n%s", rapid.Float64Range(0.01, 1).Draw(t, "degraded"), batch)
	p("client: {timeout: %s, deadline: 2s, on_timeout: %s, max_in_flight: %s, classes: [", pick("timeout", "1s", "1.25s", "999999ns"), pick("on_timeout", "listen", "close"), pick("max", "auto", "17"))
	for i := range rapid.IntRange(0, 3).Draw(t, "classes") {
		if i > 0 && rapid.Bool().Draw(t, "no weight") {
			p("{name: z%d, weight: 0}, ", i)
		}
		p("{name: c%d, weight: %v, tenant: %s, %s}, ", i, rapid.Float64Range(0.1, 1e6).Draw(t, "weight"), quoted("tenant"), pick("class",
			"timeout: 3ms", "timeout: 3ms, deadline: 5h", "deadline: 3s, bytes: 100, protected: true",
			"service: {mean: 1ms}", "service: {kind: constant}", "service: {kind: bimodal, mean: 7ms, slow_factor: 3}"))
	}
	p("], behaviours: [%s]}\n", pick("behaviours", "", "{kind: test_patient}", "{kind: test_patient, wait: 1s}, {kind: test_patient, attempts: 1}"))
	kind := pick("load", "swept", "plain", "replay")
	switch kind {
	case "swept":
		p("load:\n  phases:\n    - {kind: sweep, from: %vx, to: 9x, hold: 1s}\n", rapid.Float64Range(0.2, 3).Draw(t, "from"))
		p("    - {kind: hold, rate: %v/m, for: %s}\n    - {kind: ramp, to: 7.5, for: 2s}\n", rapid.Float64Range(6, 600).Draw(t, "rate"), pick("for", "1m", "100h", "1ms"))
		p("faults: [%s]\n", pick("faults", "", "{kind: test_injury, factor: 2, seed: 7}"))
	case "plain":
		p("load:\n  %s\n  phases: [{kind: hold, rate: 5, for: 1h, name: flood}, {kind: spike, rate: 7, for: 1s}]\n", pick("arrivals",
			"arrivals: bursty", "arrivals: bursty\n  burst: {on: 1ms, off: 2ms, idle: 0.25, lengths: fixed}", "arrivals: constant"))
		p("faults: [%s]\n", pick("faults", "", "{kind: test_injury, at: 1s, for: 2s, ramp: 1s}", "{kind: test_injury, at: 1h}, {kind: test_injury, factor: 1e-3}"))
	case "replay":
		p("load:\n  arrivals: replay\n  replay: {%s}\n", pick("replay", "counts: [0, 12, 7]", "counts: [1], every: 10ms", "offsets: [1s, 0, 1.5s, 1us]"))
		p("  phases: [%s]\n", pick("steps", "", "{kind: hold, for: 2s, name: flood}, {kind: spike, for: 5s}"))
	}
	p("checks: [%s]\n", pick("check", "plateau >= 90%", "good > 5 at 2x in spike, late == 0 in hold", "knee>=0.9x, failed == 0 at 2.5x", "good.p99.9 < 1m30s at 60/m", ""))
	return b.String()
}

// TestRoundTrip: what is resolved reads back as the same profile.
func TestRoundTrip(t *testing.T) {
	check := func(t interface {
		Helper()
		Errorf(string, ...any)
		Fatalf(string, ...any)
	}, p *Profile,
	) {
		t.Helper()
		again, err := load(string(p.YAML()), Overrides{})
		if err != nil {
			t.Fatalf("the resolved profile is refused:\n%v\n%s", err, p.YAML())
		}
		if diff := cmp.Diff(p, again); diff != "" {
			t.Errorf("(-want +got):\n%s\n%s", diff, p.YAML())
		}
		if p.SHA256() != again.SHA256() || len(p.SHA256()) != 64 {
			t.Errorf("hashes differ: %s, %s", p.SHA256(), again.SHA256())
		}
	}
	for _, name := range embeddedNames() {
		p, err := Load(name, Overrides{})
		if err != nil {
			t.Fatal(err)
		}
		check(t, p)
	}
	rapid.Check(t, func(t *rapid.T) {
		text := anyProfile(t)
		p, err := load(text, Overrides{})
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		check(t, p)
	})
}

func TestHashIgnoresComments(t *testing.T) {
	a := mustLoad(t, small, Overrides{})
	b := mustLoad(t, "# a comment\nload: {phases: [{for: 10s, rate: 0.70x, kind: hold}]}\ntarget: {workers: 10}\n", Overrides{})
	if a.SHA256() != b.SHA256() {
		t.Error("profiles that mean the same have different hashes")
	}
	if a.SHA256() == mustLoad(t, small, Overrides{Set: []string{"target.workers=11"}}).SHA256() {
		t.Error("profiles that differ have the same hash")
	}
}

// compileSchema compiles what Schema returns.
func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	text, err := Schema()
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("profile.json", document); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("profile.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

// asJSON turns YAML into what a JSON Schema validator takes.
func asJSON(text []byte) (any, error) {
	var v any
	if err := yaml.Load(text, &v); err != nil {
		return nil, err
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(b))
}

// TestSchema: every profile that loads fits the schema, as written and as
// resolved, and what an editor should underline does not fit.
func TestSchema(t *testing.T) {
	schema := compileSchema(t)
	fits := func(text []byte) error {
		v, err := asJSON(text)
		if err != nil {
			return err
		}
		return schema.Validate(v)
	}
	for _, name := range embeddedNames() {
		text, err := embedded.ReadFile(name + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		p, err := Load(name, Overrides{})
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range [][]byte{text, p.YAML()} {
			if err := fits(text); err != nil {
				t.Errorf("%s: %v\n%s", name, err, text)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		if err := fits([]byte(anyProfile(t))); err != nil {
			t.Error(err)
		}
	})
	const ok = "load: {phases: [{kind: hold, rate: 10, for: 1s}]}\n"
	if err := fits([]byte(ok)); err != nil {
		t.Fatal(err)
	}
	for _, wrong := range []string{
		"{}", "load: {}", "load: {phases: []}", "load: {phases: [{kind: wave}]}", "load: {phases: [{kind: hold, rate: 10}]}",
		"load: {phases: [{kind: hold, rate: 10, for: 5}]}", "load: {phases: [{kind: hold, rate: -1, for: 5s}]}",
		"load: {phases: [{kind: hold, rate: 10y, for: 5s}]}",
		ok + "nmae: x", ok + "seed: -1", ok + "client: {timeout: 1d}", ok + "client: {on_timeout: hang}", ok + "client: {max_in_flight: 0}",
		ok + "client: {classes: [{weight: 1}]}", ok + "client: {behaviours: [{kind: zebra}]}",
		ok + "target: {workers: 0}", ok + "target: {shed_at: here}", ok + "target: {order: {kind: zebra}}",
		ok + "target: {service: {kind: zebra}}", ok + "target: {protections: [{kind: limit, limti: 5}]}",
		ok + "target: {protections: [{limit: 5}]}", ok + "target: {protections: [{kind: queue_bound, wait: 5}]}",
		ok + "checks: [5]", ok + "target: {}\nfaults: [{kind: zebra}]", ok + "target: {}\nfaults: [{kind: test_injury, fro: 1s}]",
		ok + "target: {}\nfaults: [{kind: test_injury, at: 1}]", ok + "target: {degraded: 0}", ok + "target: {degraded: 2}",
		ok + "target: {batch: {delay: 1s}}", ok + "target: {batch: {size: 1}}", ok + "client: {classes: [{name: a, bytes: -1}]}",
		ok + "client: {classes: [{name: a, protected: 1}]}", ok + "target: {}\nclient: {classes: [{name: a, service: {kind: zebra}}]}",
		ok + "client: {classes: [{name: a, phases: [{kind: hold}]}]}",
		"load: {arrivals: replay}", "load: {arrivals: replay, replay: {of: zebra, file: x}}", "load: {arrivals: replay, replay: {counts: [a]}}",
		"load: {arrivals: bursty, burst: {idle: 1}, phases: [{kind: hold, rate: 10, for: 1s}]}",
		"load: {arrivals: bursty, burst: {lengths: zebra}, phases: [{kind: hold, rate: 10, for: 1s}]}",
	} {
		if fits([]byte(wrong)) == nil {
			t.Errorf("the schema takes %q", wrong)
		}
		if _, err := load(wrong, Overrides{}); err == nil {
			t.Errorf("the loader takes %q", wrong)
		}
	}
}

// FuzzLoad: no text makes the loader panic, hang, or return a profile that
// cannot be resolved and built. Faults have places.
func FuzzLoad(f *testing.F) {
	for _, name := range embeddedNames() {
		text, err := embedded.ReadFile(name + ".yaml")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("a: &a [*a]\n"))
	f.Add([]byte("target: {batch: {size: 2}}\nload: {arrivals: replay, replay: {offsets: [1s, 0]}}\nfaults: [{kind: test_injury, at: 1s, ramp: 1s}]\n"))
	f.Add([]byte("target: {}\ntopology: {servers: 2}\nload: {arrivals: bursty, phases: [{kind: hold, rate: 1x, for: 1s, name: a}]}\nfaults: [{kind: test_injury, server: 1}]\nchecks: [good > 0 in a]\n"))
	f.Add([]byte("target: {}\nload: {phases: [{kind: hold, rate: 0, for: 1s}]}\nclient: {behaviours: [{kind: test_patient}], classes: [{name: a, service: {mean: 1s}, phases: [{kind: hold, rate: 1x, for: 1s}]}]}\n"))
	f.Add([]byte("load: {phases: [{kind: sweep, from: 0.1, to: 1e6, ratio: 1.001, hold: 1000h, passes: 100000}]}\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		p, err := load(string(text), Overrides{Capacity: 100})
		if err != nil {
			faults, ok := err.(Faults)
			if !ok || len(faults) == 0 {
				t.Fatalf("got %T %v, want Faults", err, err)
			}
			for _, f := range faults {
				if f.What == "" || strings.ContainsAny(f.Error(), "\n\r") {
					t.Errorf("fault %+v", f)
				}
			}
			return
		}
		again, err := load(string(p.YAML()), Overrides{Capacity: 100})
		if err != nil {
			t.Fatalf("resolved: %v\n%s", err, p.YAML())
		}
		if diff := cmp.Diff(p, again); diff != "" {
			t.Errorf("resolved (-want +got):\n%s", diff)
		}
		capacity := p.Capacity()
		if capacity == 0 {
			capacity = 100
		}
		if _, err := p.PlanSpec(capacity); err != nil {
			t.Error(err)
		}
		if p.Target != nil {
			mustBuild(t, p)
		}
	})
}
