package profiles

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"knee/generator/plan"
	"knee/target/protection"
	"knee/target/server"
)

// load reads text as the file p.yaml.
func load(text string, o Overrides) (*Profile, error) {
	o.ReadFile = func(string) ([]byte, error) { return []byte(text), nil }
	return Load("p.yaml", o)
}

// small is the least valid profile with a target.
const small = `target: {}
load:
  phases:
    - {kind: hold, rate: 0.7x, for: 10s}
`

// mustLoad loads text, which is valid.
func mustLoad(t *testing.T, text string, o Overrides) *Profile {
	t.Helper()
	p, err := load(text, o)
	if err != nil {
		t.Fatalf("a valid profile is refused:\n%v\n%s", err, text)
	}
	return p
}

// wantFaults compares the lines of err with want, in which "…" stands for
// anything.
func wantFaults(t *testing.T, err error, want ...string) {
	t.Helper()
	if err == nil {
		t.Fatalf("accepted; want\n%s", strings.Join(want, "\n"))
	}
	got := strings.Split(err.Error(), "\n")
	ok := len(got) == len(want)
	for i := range min(len(got), len(want)) {
		parts := strings.Split(want[i], "…")
		for j := range parts {
			parts[j] = regexp.QuoteMeta(parts[j])
		}
		ok = ok && regexp.MustCompile("^"+strings.Join(parts, ".*")+"$").MatchString(got[i])
	}
	if !ok {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestDefaults(t *testing.T) {
	p := mustLoad(t, small, Overrides{})
	want := `name: p
seed: 1
target:
  workers: 10
  service:
    kind: exponential
    mean: 10ms
    per: attempt
  order: {kind: fifo, sweep: true}
  shed_at: handler
  reject_cost: 0
  degraded: 0.2
client:
  timeout: 100ms
  deadline: 100ms
  grace: 200ms
  on_timeout: listen
  max_in_flight: auto
  clients: 50
load:
  arrivals: poisson
  phases:
  - {kind: hold, rate: 0.7x, for: 10s}
`
	if diff := cmp.Diff(want, string(p.YAML())); diff != "" {
		t.Errorf("resolved (-want +got):\n%s", diff)
	}
	if c := p.Capacity(); c != 1000 {
		t.Errorf("capacity is %v, want 1000", c)
	}
	close := mustLoad(t, small+"client: {on_timeout: close, timeout: 1s}\n", Overrides{})
	if c := close.Client; c.Grace != 0 || c.Deadline != Duration(time.Second) {
		t.Errorf("grace %v, deadline %v after closing at the timeout; want 0s, 1s", c.Grace, c.Deadline)
	}
}

// TestFaults holds each kind of mistake to its place and its words.
func TestFaults(t *testing.T) {
	phases := "load: {phases: [{kind: hold, rate: 10, for: 1s}]}\n"
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"everything at once", `nmae: x
seed: -1
target:
  workers: 0
  service: {kind: exponentail, mean: 10}
  protections:
    - {kind: queue_bound, wait: -5ms}
    - {kind: deadlin}
client:
  timeout: 5
load:
  phases:
    - {kind: hold, rate: fast, for: 10s}
`, []string{
			`p.yaml:1:1: unknown key "nmae"; did you mean "name"?: known are name, doc, hypothesis, …`,
			`p.yaml:2:7: seed is -1: want a whole number of at least 0`,
			`p.yaml:4:12: target.workers is 0: want a number from 1 to 100000`,
			`p.yaml:5:19: target.service.kind is "exponentail": want one of bimodal, constant, exponential, lognormal, pareto`,
			`p.yaml:5:38: target.service.mean is 10, which has no unit: want a duration with a unit (h m s ms us ns), such as 5s, 1m30s or 20ms`,
			`p.yaml:7:33: target.protections.0.wait is -5ms, which is below 0: want a duration with a unit …`,
			`p.yaml:8:14: unknown protection "deadlin"; did you mean "deadline"?: known are …`,
			`p.yaml:10:12: client.timeout is 5, which has no unit: want a duration with a unit …`,
			`p.yaml:13:26: load.phases.0.rate is "fast": want a rate such as 1000, 1000/s, 2.5/m or 0.8x (x is a multiple of capacity)`,
		}},
		{"nested unknown key", phases + "client: {tiemout: 1s}\n", []string{
			`p.yaml:2:10: unknown key "tiemout" in client; did you mean "timeout"?: known are timeout, deadline, grace, …`,
		}},
		{"unknown key far from all", phases + "zebra: 1\n", []string{`p.yaml:2:1: unknown key "zebra": known are name, …`}},
		{"duplicate key", phases + "seed: 1\nclient: {clients: 5}\nseed: 2\n", []string{
			`p.yaml:4:1: seed is given twice, first in line 2: want it once`,
		}},
		{"duplicate knob", "target: {protections: [{kind: deadline, allowance: p95, allowance: p90}]}\n" + phases, []string{
			`p.yaml:1:57: target.protections.0.allowance is given twice, first in line 1: want it once`,
		}},
		{"duplicate class", phases + "client:\n  classes:\n    - name: a\n    - name: b\n    - name: a\n", []string{
			`p.yaml:6:13: client.classes.2.name is "a", the name of client.classes.0 too: want each name once`,
		}},
		{"class names", phases + "client:\n  classes:\n    - {weight: 1}\n    - {name: 'a b'}\n    - {name: ''}\n    - {name: x, criticality: high, cost: 0, weight: -1}\n", []string{
			`p.yaml:4:7: client.classes.0 has no name: want a name for each class`,
			`p.yaml:5:14: client.classes.1.name is "a b": want letters, digits, _, - and .`,
			`p.yaml:6:14: client.classes.2.name is "": want letters, digits, _, - and .`,
			`p.yaml:7:30: client.classes.3.criticality is "high": want one of sheddable, sheddable_plus, critical, critical_plus`,
			`p.yaml:7:42: client.classes.3.cost is 0: want a number above 0, up to 1e9`,
			`p.yaml:7:53: client.classes.3.weight is -1: want a number from 0 to 1e9`,
		}},
		{"classes without weight", phases + "client: {classes: [{name: a, weight: 0}]}\n", []string{
			`p.yaml:2:19: client.classes is without weight: want at least one class with a weight above 0`,
		}},
		{"wrong types", `name: [a]
doc: {}
seed: "1"
allow: here
target: 5
client: {clients: 1.5, max_in_flight: 0, classes: {name: a}}
load: {phases: [7]}
`, []string{
			`p.yaml:1:7: name is a list: want a text`,
			`p.yaml:2:6: doc is a mapping: want a text`,
			`p.yaml:3:7: seed is the text "1": want a whole number of at least 0`,
			`p.yaml:4:8: allow is "here": want a list`,
			`p.yaml:5:9: target is 5: want a mapping with keys from workers, …`,
			`p.yaml:6:19: client.clients is 1.5: want a whole number`,
			`p.yaml:6:39: client.max_in_flight is "0": want auto, or a number of at least 1`,
			`p.yaml:6:51: client.classes is a mapping: want a list`,
			`p.yaml:7:17: load.phases.0 is 7: want a mapping with keys from kind, …`,
		}},
		{"empty values", "name:\nclient: {timeout: , clients: ~}\ntarget:\n" + phases, []string{
			`p.yaml:1:6: name is empty: want a text`,
			`p.yaml:2:19: client.timeout is empty: want a duration with a unit …`,
			`p.yaml:2:30: client.clients is empty: want a whole number`,
			`p.yaml:3:8: target is empty: want a mapping …`,
		}},
		{"booleans", "target: {service: {cpu: yes}}\n" + phases, []string{`p.yaml:1:25: target.service.cpu is "yes": want true or false`}},
		{"no load", "name: x\n", []string{`p.yaml:1:1: load.phases is empty: want at least one phase, …`}},
		{"misspelt load", "laod: {}\n", []string{`p.yaml:1:1: unknown key "laod"; did you mean "load"?: …`}},
		{"no phases", "load: {phases: []}\n", []string{`p.yaml:1:16: load.phases is empty: want at least one phase, …`}},
		{"phases without what they need", "load:\n  phases:\n    - {rate: 1, for: 1s}\n    - {kind: hold, for: 1s}\n    - {kind: sweep, from: 1, to: 5}\n    - {kind: wave}\n    - {kind: hold, raet: 5, for: 1s}\n", []string{
			`p.yaml:3:7: load.phases.0 has no kind: want one of hold, ramp, sweep, spike`,
			`p.yaml:4:7: load.phases.1 has no rate: want rate, for for a hold`,
			`p.yaml:5:7: load.phases.2 has no hold: want from, to, hold for a sweep`,
			`p.yaml:6:14: load.phases.3.kind is "wave": want one of hold, ramp, sweep, spike`,
			`p.yaml:7:20: unknown key "raet" in load.phases.4; did you mean "rate"?: …`,
		}},
		{"field of another kind", "load: {phases: [{kind: hold, rate: 5, for: 1s, ratio: 2}]}\n", []string{
			`p.yaml:1:48: load.phases.0.ratio: a hold has no ratio: want rate, for`,
		}},
		{"empty sweep", "load: {phases: [{kind: sweep, from: 10, to: 5, hold: 1s}]}\n", []string{
			`p.yaml:1:45: load.phases.0.to is 5: want at least the rate it starts from, 10`,
		}},
		{"endless sweep", "load: {phases: [{kind: sweep, from: 1, to: 5, hold: 1s, ratio: 1, passes: 0}]}\n", []string{
			`p.yaml:1:64: load.phases.0.ratio is 1: want a factor from 1.001 to 1000`,
			`p.yaml:1:75: load.phases.0.passes is 0: want a number from 1 to 100000`,
		}},
		{"zero where senseless", "load: {phases: [{kind: spike, rate: 0, for: 0}]}\n", []string{
			`p.yaml:1:37: load.phases.0.rate is 0: want arrivals per second from 0.1 to 1000000`,
			`p.yaml:1:45: load.phases.0.for is 0 (0s): want a duration above 0, up to 720h0m0s`,
		}},
		{"ramp after sweep", "load:\n  phases:\n    - {kind: sweep, from: 1, to: 5, hold: 1s}\n    - {kind: ramp, to: 3, for: 1s}\n", []string{
			`p.yaml:4:7: load.phases.1 has no from: want it after a sweep, whose loads are shuffled`,
		}},
		{"x without a capacity", "load:\n  phases:\n    - {kind: hold, rate: 100, for: 1s}\n    - {kind: sweep, from: 0.5x, to: 10x, hold: 1s}\n", []string{
			`p.yaml:4:27: load.phases.1.from is 0.5x without a capacity: want a rate such as 1000/s, a target, or --capacity RATE`,
			`p.yaml:4:37: load.phases.1.to is 10x without a capacity: want …`,
		}},
		{"more than can be offered", "target: {service: {mean: 1ms}}\nload: {phases: [{kind: hold, rate: 200x, for: 1s}]}\n", []string{
			`p.yaml:2:36: load.phases.0.rate is 200x (2e+06): want arrivals per second from 0.1 to 1000000, or 0`,
		}},
		{"unknown kinds", "target:\n  order: {kind: fif}\n  protections: [{kind: zebra}]\nclient: {behaviours: [{kind: zebra}]}\nfaults: [{kind: test_injry}]\n" + phases, []string{
			`p.yaml:2:17: unknown order "fif"; did you mean "fifo"?: known are …`,
			`p.yaml:3:24: unknown protection "zebra": known are …`,
			`p.yaml:4:30: unknown client behaviour "zebra": …`,
			`p.yaml:5:17: unknown fault "test_injry"; did you mean "test_injury"?: known are …`,
		}},
		{"planned parts", phases + "acts: [{name: a}]\n", []string{
			`p.yaml:2:1: acts are not built yet: want a profile without them`,
		}},
		{"guards", phases + "guards:\n  - abort when goodput < 0.2x for 5s\n  - abort if all is lost\n  - abort when knee < 100 for 1s\n", []string{
			`p.yaml:3:5: guards.0 is 0.2x without a capacity: want a rate such as 100/s, a target, or --capacity RATE`,
			`p.yaml:4:5: guards.1: …`,
			`p.yaml:5:16: guards.2: unknown metric "knee": want goodput, …`,
		}},
		{"kind missing", "target: {order: {}, protections: [deadline, {wait: 5ms}, {kind: [a]}]}\n" + phases, []string{
			`p.yaml:1:17: target.order has no kind: want one: known are …`,
			`p.yaml:1:35: target.protections.0 is "deadline": want a mapping with a kind and its knobs, …`,
			`p.yaml:1:45: target.protections.1 has no kind: want one: known are …`,
			`p.yaml:1:65: target.protections.2.kind is a list: known are …`,
		}},
		{"knobs", "target:\n  protections:\n    - {kind: limit, limit: 0}\n    - kind: deadline\n      allowance: p101\n      slakc: 5ms\n    - {kind: queue_bound, count: -1, wait: 5}\n", []string{
			`p.yaml:1:1: load.phases is empty: …`,
			`p.yaml:3:28: target.protections.0.limit is 0: want …`,
			`p.yaml:5:18: target.protections.1.allowance is "p101": want a duration of at least 0, mean, or p1 to p99.9`,
			`p.yaml:6:7: unknown key "slakc" in target.protections.1; did you mean "slack"?: known are kind, allowance, slack, admit`,
			`p.yaml:7:34: target.protections.2.count is -1: want …`,
			`p.yaml:7:44: target.protections.2.wait is 5, which has no unit: …`,
		}},
		{"a required knob left out", "target: {protections: [{kind: limit}]}\n" + phases, []string{`p.yaml:1:24: target.protections.0.limit is 0: want …`}},
		{"deadline below the timeout", phases + "client: {timeout: 100ms, deadline: 50ms}\n", []string{
			`p.yaml:2:36: client.deadline is 50ms: want at least the timeout, 100ms`,
		}},
		{"no grace while listening", phases + "client: {grace: 0s}\n", []string{
			`p.yaml:2:17: client.grace is 0s: want a duration above 0 with on_timeout: listen, or on_timeout: close`,
		}},
		{"no timeout", phases + "client: {timeout: 0, on_timeout: hang, clients: 0}\n", []string{
			`p.yaml:2:19: client.timeout is 0s: want a duration above 0, such as 100ms`,
			`p.yaml:2:34: client.on_timeout is "hang": want one of listen, close`,
			`p.yaml:2:49: client.clients is 0: want a number from 1 to 1000000`,
		}},
		{"target out of range", "target: {reject_cost: 1.5, shed_at: handlre, workers: 100001}\n" + phases, []string{
			`p.yaml:1:23: target.reject_cost is 1.5: want a share from 0 to 1`,
			`p.yaml:1:37: target.shed_at is "handlre"; did you mean "handler"?: want one of accept, headers, handler, late`,
			`p.yaml:1:55: target.workers is 100001: want a number from 1 to 100000`,
		}},
		{"a knob that is a mapping", "target: {protections: [{kind: test_needy, weights: 5}, {kind: test_needy, weights: {a: x, b: 1, b: 2, [c]: 1}}]}\n" + phases, []string{
			`p.yaml:1:52: target.protections.0.weights is 5: want a mapping`,
			`p.yaml:1:88: target.protections.1.weights.a is "x": want a number`,
			`p.yaml:1:97: target.protections.1.weights.b is given twice, first in line 1: want it once`,
			`p.yaml:1:103: a key that is a list: want a name`,
		}},
		{"a stage that is too early", "target: {shed_at: accept, protections: [{kind: queue_bound, count: 5}, {kind: test_needy}]}\n" + phases, []string{
			`p.yaml:1:72: target.protections.1: test_needy needs to know the class, which nobody does at shed_at: accept, before a byte is read: want shed_at: headers, handler or late`,
		}},
		{"checks", phases + "checks:\n  - plateua >= 0.9\n  - 'knee >= 5s'\n  - good{class=x} > 5\n  - 5\n", []string{
			`p.yaml:3:5: checks.0: unknown metric "plateua": want plateau, knee, …`,
			`p.yaml:4:14: checks.1: knee cannot be compared with "5s": want a rate …`,
			`p.yaml:5:5: checks.2: no class is named "x": want one of default`,
			`p.yaml:6:5: checks.3: unexpected "5": want plateau, …`,
		}},
		{"degraded answers", "target: {degraded: 0}\n" + phases, []string{`p.yaml:1:20: target.degraded is 0: want a share above 0, up to 1`}},
		{"degraded answers that take more", "target: {degraded: 1.1}\n" + phases, []string{`p.yaml:1:20: target.degraded is 1.1: want a share above 0, up to 1`}},
		{"batches", "target: {batch: {size: 0, delay: 5, overheat: 1ms}}\n" + phases, []string{
			`p.yaml:1:24: target.batch.size is 0: want a number from 2 to 100000`,
			`p.yaml:1:34: target.batch.delay is 5, which has no unit: …`,
			`p.yaml:1:37: unknown key "overheat" in target.batch; did you mean "overhead"?: known are size, delay, overhead`,
		}},
		{"batches of burnt work", "target: {service: {cpu: true}, batch: {size: 2}}\n" + phases, []string{
			`p.yaml:1:39: target.batch is given for work that burns a CPU: want no batch, or service without cpu: …`,
		}},
		{"a batch of one", "target: {batch: {size: 1}}\n" + phases, []string{`p.yaml:1:24: target.batch.size is 1: want a number from 2 to 100000`}},
		{"batches without a size", "target: {batch: {delay: 5ms}}\n" + phases, []string{`p.yaml:1:17: target.batch.size is 0: want a number from 2 to 100000`}},
		{"batch of a wrong type", "target: {batch: 20}\n" + phases, []string{`p.yaml:1:17: target.batch is 20: want a mapping with keys from size, delay, overhead`}},
		{"classes", "target: {}\n" + phases + "client:\n  classes:\n    - {name: a, bytes: -1, protected: 1, deadline: 50ms}\n    - {name: b, bytes: 1073741825, timeout: 1s, deadline: 900ms}\n    - {name: c, service: {kind: constant, mean: 0s, cv: 1}}\n    - {name: d, service: {kidn: constant}}\n    - {name: e, service: 5ms}\n", []string{
			`p.yaml:5:24: client.classes.0.bytes is -1: want a number from 0 to 1073741824`,
			`p.yaml:5:39: client.classes.0.protected is 1: want true or false`,
			`p.yaml:5:52: client.classes.0.deadline is 50ms: want at least the timeout, 100ms`,
			`p.yaml:6:24: client.classes.1.bytes is 1073741825: want a number from 0 to 1073741824`,
			`p.yaml:6:59: client.classes.1.deadline is 900ms: want at least the timeout, 1s`,
			`p.yaml:7:49: client.classes.2.service.mean is 0s: want a duration from 1µs to 1h`,
			`p.yaml:7:57: client.classes.2.service.cv is 1: want nothing: constant does not use it`,
			`p.yaml:8:27: unknown key "kidn" in client.classes.3.service; did you mean "kind"?: …`,
			`p.yaml:9:26: client.classes.4.service is "5ms": want a mapping with keys from kind, …`,
		}},
		{"service without a target", phases + "client: {classes: [{name: a, service: {mean: 5ms}}]}\n", []string{
			`p.yaml:2:39: client.classes.0.service is given without a target: want a profile with one: it is about the built-in server`,
		}},
		{"phases of classes", "target: {}\nload: {phases: [{kind: hold, rate: 10, for: 2s}]}\nclient:\n  classes:\n    - {name: a}\n    - {name: b, weight: 2, phases: [{kind: hold, rate: -1, for: 1s}, {kind: wave}]}\n    - {name: c, phases: [{kind: hold, rate: 1, for: 3s}]}\n    - {name: d, phases: [{kind: hold, rate: 1x, for: 1s, name: early}, {kind: ramp, for: 1s}]}\n", []string{
			`p.yaml:6:25: client.classes.1.weight is 2: want nothing: a class with phases of its own has no share of the load's`,
			`p.yaml:6:56: client.classes.1.phases.0.rate is -1, which is below 0: want a rate …`,
			`p.yaml:6:77: client.classes.1.phases.1.kind is "wave": want one of hold, ramp, sweep, spike`,
			`p.yaml:8:64: client.classes.3.phases.0.name is "early": want nothing: what arrives counts in the phases of the load`,
			`p.yaml:8:72: client.classes.3.phases.1 has no to: want to, for for a ramp`,
		}},
		{"a sweep of a class", phases + "client: {classes: [{name: a}, {name: c, phases: [{kind: sweep, from: 1, to: 2, hold: 1ms}]}]}\n", []string{
			`p.yaml:2:57: client.classes.1.phases.0.kind is sweep: want hold, ramp or spike: a sweep is of all classes`,
		}},
		{"phases of a class that the plan refuses", "target: {}\nload: {phases: [{kind: hold, rate: 10, for: 2s}]}\nclient: {classes: [{name: a}, {name: c, phases: [{kind: hold, rate: 1, for: 3s}]}]}\n", []string{
			`p.yaml:3:49: client.classes.1.phases is 3s long: want at most the 2s of the plan`,
		}},
		{"phases of all classes", "load: {phases: [{kind: hold, rate: 10, for: 2s}]}\nclient: {classes: [{name: a, phases: [{kind: hold, rate: 1, for: 1s}]}]}\n", []string{
			`p.yaml:1:36: load.phases.0.rate is 10: want 0, where every class has phases of its own`,
		}},
		{"phases of a class beside a sweep", "load: {phases: [{kind: sweep, from: 1, to: 5, hold: 2s}]}\nclient: {classes: [{name: a}, {name: b, phases: [{kind: hold, rate: 1, for: 1s}]}]}\n", []string{
			`p.yaml:2:49: client.classes.1.phases is given beside a sweep: want a load without one, …`,
		}},
		{"phases of a class without a capacity", phases + "client: {classes: [{name: a}, {name: b, phases: [{kind: hold, rate: 1x, for: 1s}]}]}\n", []string{
			`p.yaml:2:69: client.classes.1.phases.0.rate is 1x without a capacity: want …`,
		}},
		{"names of phases", "load: {phases: [{kind: hold, rate: 1, for: 1s, name: spike}, {kind: hold, rate: 1, for: 1s, name: 'a b'}, {kind: hold, rate: 1, for: 1s, name: [a]}]}\n", []string{
			`p.yaml:1:54: load.phases.0.name is "spike": want a name that is not a kind of phase`,
			`p.yaml:1:99: load.phases.1.name is "a b": want letters, digits, _, - and .`,
			`p.yaml:1:144: load.phases.2.name is a list: want a text`,
		}},
		{"bursts", "load:\n  arrivals: bursty\n  burst: {on: 0.1ms, off: 1000h, idle: 1, lengths: fixd, onn: 1s}\n  phases: [{kind: hold, rate: 10, for: 2s}]\n", []string{
			`p.yaml:3:15: load.burst.on is 0.1ms (100µs): want a duration from 1ms to 720h0m0s`,
			`p.yaml:3:27: load.burst.off is 1000h (1000h0m0s): want a duration from 1ms to 720h0m0s`,
			`p.yaml:3:40: load.burst.idle is 1: want a multiple of the rate from 0 to below 1`,
			`p.yaml:3:52: load.burst.lengths is "fixd"; did you mean "fixed"?: want one of exponential, fixed`,
			`p.yaml:3:58: unknown key "onn" in load.burst; did you mean "on"?: known are on, off, idle, lengths`,
		}},
		{"bursts of others", "load: {burst: {}, phases: [{kind: hold, rate: 10, for: 2s}]}\n", []string{
			`p.yaml:1:15: load.burst is given for poisson arrivals: want it with arrivals: bursty`,
		}},
		{"a replay of nothing", "load: {arrivals: replay}\n", []string{
			`p.yaml:1:18: load.arrivals is replay: want load.replay with what to replay, such as {counts: [80, 120, 95]}`,
		}},
		{"a replay of others", "load: {arrivals: constant, replay: {counts: [1]}, phases: [{kind: hold, rate: 10, for: 2s}]}\n", []string{
			`p.yaml:1:36: load.replay is given for constant arrivals: want it with arrivals: replay`,
		}},
		{"a replay", "load: {arrivals: replay, replay: {offsets: [1, 5s], counts: [-1, a], every: 1, of: counts}}\n", []string{
			`p.yaml:1:45: load.replay.offsets.0 is 1, which has no unit: …`,
			`p.yaml:1:61: load.replay.counts is given beside offsets: want one of both`,
			`p.yaml:1:66: load.replay.counts.1 is "a": want a whole number`,
			`p.yaml:1:77: load.replay.every is 1, which has no unit: …`,
			`p.yaml:1:84: load.replay.of is counts: want nothing: there is no file`,
		}},
		{"a replay that the plan refuses", "load: {arrivals: replay, replay: {counts: [-1, 5], every: 0.5ms}}\n", []string{
			`p.yaml:1:59: load.replay.every is 0.5ms (500µs): want a duration of at least 1ms, with counts`,
		}},
		{"counts that the plan refuses", "load: {arrivals: replay, replay: {counts: [-1, 5, 2000000]}}\n", []string{
			`p.yaml:1:44: load.replay.counts.0 is -1: want a number from 0 to 1000000 a second`,
			`p.yaml:1:51: load.replay.counts.2 is 2000000: want a number from 0 to 1000000 a second`,
		}},
		{"phases of a replay", "load: {arrivals: replay, replay: {counts: [1, 1]}, phases: [{kind: hold, rate: 5, for: 1s}, {kind: ramp, to: 5, for: 1s}, {kind: hold}]}\n", []string{
			`p.yaml:1:74: load.phases.0.rate: a hold has no rate: want for`,
			`p.yaml:1:100: load.phases.1.kind is ramp: want hold or spike: a replay says how many arrive`,
			`p.yaml:1:123: load.phases.2 has no for: want for for a hold`,
		}},
		{"a replay beyond its phases", "load: {arrivals: replay, replay: {counts: [1, 1]}, phases: [{kind: hold, for: 1s}]}\n", []string{
			`p.yaml:1:60: load.phases is 1s long: want at least the 2s of the replay`,
		}},
		{"faults", "target: {}\n" + phases + `faults:
  - {kind: test_injury, at: 1s}
  - {kind: test_injury, at: 500ms, for: 0s, factor: 0}
  - {kind: test_injury, at: 0, for: 100ms, ramp: 101ms}
  - {kind: test_injury, for: 2s, seed: -1, server: a/b/1}
  - {kind: test_injury, server: 1, fro: 5s}
  - {at: 5}
  - test_injury
`, []string{
			`p.yaml:4:29: faults.0.at is 1s: want an instant before the end of the load, 1s`,
			`p.yaml:5:41: faults.1.for is 0s: want a duration above 0, or nothing: it lasts to the end of the run`,
			`p.yaml:5:53: faults.1.factor is 0: want a number above 0`,
			`p.yaml:6:50: faults.2.ramp is 101ms: want at most the duration, 100ms`,
			`p.yaml:7:30: faults.3.for is 2s: want an end within the load, which lasts 1s, or no for`,
			`p.yaml:7:40: faults.3.seed is -1: want a whole number of at least 0`,
			`p.yaml:7:52: faults.3.server is "a/b/1": want the number of a server, from 0, or LAYER/NUMBER`,
			`p.yaml:8:33: faults.4.server is 1: want nothing: without a topology there is one server`,
			`p.yaml:8:36: unknown key "fro" in faults.4; did you mean "for"?: known are kind, at, for, ramp, seed, server, factor`,
			`p.yaml:9:5: faults.5 has no kind: want one: known are …`,
			`p.yaml:10:5: faults.6 is "test_injury": want a mapping with a kind and its knobs, …`,
		}},
		{"faults without a target", phases + "faults: [{kind: test_injury}]\n", []string{`p.yaml:2:9: faults: there is no target: want a profile with one: …`}},
		{"faults beside a sweep", "target: {}\nload: {phases: [{kind: sweep, from: 1, to: 5, hold: 1s}]}\nfaults: [{kind: test_injury, at: 1s}, {kind: test_injury}]\n", []string{
			`p.yaml:3:10: faults.0 begins or ends during a sweep, whose loads are offered one by one: want one that lasts throughout, …`,
		}},
		{"behaviours", phases + "client: {behaviours: [{kind: test_patient, attempts: 0}]}\n", []string{
			`p.yaml:2:54: client.behaviours.0.attempts is 0: want a number of at least 1`,
		}},
		{"phases of checks", "load: {phases: [{kind: hold, rate: 1, for: 1s, name: flood}]}\nchecks: [good > 0 in flod, good > 0 in flood, good > 0 in spike]\n", []string{
			`p.yaml:2:10: checks.0: no phase is named "flod"; did you mean "flood"?: want one of hold, ramp, sweep, spike, flood`,
		}},
		{"alias", "client: &c {clients: 5}\ntarget: *c\n" + phases, []string{
			`p.yaml:2:9: an alias, *c: want the value itself: aliases are not read`,
		}},
		{"merge key", "client: {<<: {clients: 5}}\n" + phases, []string{`p.yaml:1:10: unknown key "<<" in client: known are …`}},
		{"tag", "seed: !!int 5\nname: !secret x\n" + phases, []string{
			`p.yaml:1:7: a tag, !!int: want the value without a tag`,
			`p.yaml:2:7: a tag, !secret: want the value without a tag`,
		}},
		{"key that is a list", "[a]: 5\n" + phases, []string{`p.yaml:1:1: a key that is a list: want one of name, …`}},
		{"numbers that are none", "target: {reject_cost: .nan}\nclient: {classes: [{name: a, weight: .inf, cost: 1_000}]}\n" + phases, []string{
			`p.yaml:1:23: target.reject_cost is .nan: want a number`,
			`p.yaml:2:38: client.classes.0.weight is .inf: want a number`,
			`p.yaml:2:50: client.classes.0.cost is …`,
		}},
		{"huge numbers", "seed: 99999999999999999999\ntarget: {reject_cost: 1e999}\n" + phases, []string{
			`p.yaml:1:7: seed is 99999999999999999999: want a whole number of at least 0`,
			`p.yaml:2:23: target.reject_cost is "1e999": want a number`,
		}},
		{"a list", "- a\n", []string{`p.yaml:1:1: the profile is a list: want a mapping with keys from name, …`}},
		{"a text", "hello\n", []string{`p.yaml:1:1: the profile is "hello": want a mapping with keys from name, …`}},
		{"empty", "", []string{`p.yaml:1:1: the profile is empty: want at least a load with phases`}},
		{"comments alone", "# nothing\n\n", []string{`p.yaml:1:1: the profile is empty: …`}},
		{"null", "~\n", []string{`p.yaml:1:1: the profile is empty: …`}},
		{"two documents", phases + "---\n" + phases, []string{`p.yaml:2:1: a second document starts here: want one document in a profile`}},
		{"tab", "load:\n\tphases: []\n", []string{`p.yaml:2:1: a tab indents this line: want spaces`}},
		{"not YAML", "load: [\n", []string{`p.yaml:2:1: not YAML: …`}},
		{"not UTF-8", "name: caf\xe9\n", []string{`p.yaml:1:10: the byte 0xe9 is not UTF-8: want a text in UTF-8`}},
		{"UTF-16", "\xff\xfen\x00", []string{`p.yaml:1:1: the byte 0xff is not UTF-8: want a text in UTF-8`}},
		{"too large", strings.Repeat("#", MaxSize) + "\n", []string{`p.yaml: the file is larger than 1 MB: want a profile of at most 1 MB`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(c.text, Overrides{})
			wantFaults(t, err, c.want...)
		})
	}
}

// TestNestedKnobs: knobs within knobs keep the defaults that are not given, and
// their faults have the place of their own line.
func TestNestedKnobs(t *testing.T) {
	const base = "load: {phases: [{kind: hold, rate: 10, for: 1s}]}\n"
	p := mustLoad(t, base+"target: {protections: [{kind: test_needy, backoff: {base: 1s}}]}\n", Overrides{})
	if got, want := p.Target.Protections[0].Knobs.(*needyKnobs).Backoff, (needyBackoff{Base: time.Second, Jitter: "full"}); got != want {
		t.Errorf("backoff is %+v, want %+v", got, want)
	}
	for text, want := range map[string][]string{"": {"a", "b"}, ", tried: []": nil, ", tried: [c]": {"c"}} {
		p := mustLoad(t, base+"target: {protections: [{kind: test_needy"+text+"}]}\n", Overrides{})
		if got := p.Target.Protections[0].Knobs.(*needyKnobs).Tried; !slices.Equal(got, want) {
			t.Errorf("{%s} is %v, want %v", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"{kind: test_needy, backoff: {base: 0s}}":         `p.yaml:2:59: target.protections.0.backoff.base is 0s: want a duration above 0`,
		"{kind: test_needy, backoff: {bsae: 1s}}":         `p.yaml:2:53: unknown key "bsae" in target.protections.0.backoff; did you mean "base"?: known are base, jitter`,
		"{kind: test_needy, backoff: 5s}":                 `p.yaml:2:52: target.protections.0.backoff is "5s": want a mapping with keys from base, jitter`,
		"{kind: test_needy, backoff: {base: 5, base: 6}}": `p.yaml:2:59: target.protections.0.backoff.base is 5, which has no unit: …`,
	} {
		_, err := load(base+"target: {protections: ["+text+"]}\n", Overrides{})
		if err == nil {
			t.Errorf("%s is accepted", text)
			continue
		}
		first, _, _ := strings.Cut(err.Error(), "\n")
		wantFaults(t, errors.New(first), want)
	}
}

// TestBomb: a profile that would grow without bound is refused, and soon.
func TestBomb(t *testing.T) {
	var b strings.Builder
	b.WriteString("a: &a [x, x, x, x, x, x, x, x, x]\n")
	for c := 'b'; c < 'z'; c++ {
		b.WriteString(string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+", ", 9) + "]\n")
	}
	b.WriteString("allow: *y\n")
	if _, err := load(b.String(), Overrides{}); err == nil || !strings.Contains(err.Error(), "an alias, *y") {
		t.Errorf("got %v", err)
	}
	deep := strings.Repeat("[", 100_000)
	if _, err := load("allow: "+deep, Overrides{}); err == nil {
		t.Error("a hundred thousand nested lists are accepted")
	}
	if _, err := load("a: &a [*a]\n", Overrides{}); err == nil {
		t.Error("a list that holds itself is accepted")
	}
}

func TestSources(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "mine.yaml")
	if err := os.WriteFile(file, []byte(small), 0o600); err != nil {
		t.Fatal(err)
	}
	large := filepath.Join(dir, "large.yaml")
	if err := os.WriteFile(large, make([]byte, 10<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, profile string
		o             Overrides
		want          string // the profile's name, or the error after "!"
	}{
		{"embedded", "default", Overrides{}, "default"},
		{"file", file, Overrides{}, "mine"},
		{"stdin", "-", Overrides{Stdin: strings.NewReader(small)}, "<stdin>"},
		{"no stdin", "-", Overrides{}, "!-: there is no standard input"},
		{"unknown", "defualt", Overrides{}, `!unknown profile "defualt"; did you mean "default"?: known are attractive-shedding, `},
		{"no name", "", Overrides{}, "!the profile has no name"},
		{"no file", filepath.Join(dir, "none.yaml"), Overrides{}, "!" + filepath.Join(dir, "none.yaml") + ": there is no such file: want a file, or one of"},
		{"directory", dir + "/", Overrides{}, "!" + dir + "/: is a directory: want a file"},
		{"large", large, Overrides{}, "!" + large + ": the file is larger than 1 MB"},
		{"large stdin", "-", Overrides{Stdin: io.LimitReader(zeroes{}, 10<<20)}, "!<stdin>: the file is larger than 1 MB"},
		{"unreadable", "./x", Overrides{ReadFile: func(string) ([]byte, error) { return nil, fs.ErrPermission }}, "!./x: cannot be read: permission denied"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := Load(c.profile, c.o)
			want, fails := strings.CutPrefix(c.want, "!")
			switch {
			case fails && (err == nil || !strings.HasPrefix(err.Error(), want)):
				t.Errorf("got %v, want %s", err, want)
			case !fails && err != nil:
				t.Error(err)
			case !fails && p.Name != want:
				t.Errorf("name is %q, want %q", p.Name, want)
			}
		})
	}
}

// zeroes is an endless file.
type zeroes struct{}

func (zeroes) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestFaultsAreErrors(t *testing.T) {
	_, err := load("nmae: x\nseed: a\n"+small, Overrides{})
	var faults Faults
	if !errors.As(err, &faults) || len(faults) != 2 {
		t.Fatalf("got %T %v, want two Faults", err, err)
	}
	var one *Fault
	if !errors.As(err, &one) || one.Line != 1 || one.Column != 1 || one.Origin != "p.yaml" {
		t.Errorf("got %+v, want the first fault", one)
	}
}

// compared are the embedded profiles that stand beside each other.
var compared = []string{"bounded-queue", "deadline-only", "default", "expensive-rejection", "heavy-tail", "lifo", "limit", "mixed-classes", "rate-limit", "unprotected"}

// mustBuild builds all that a valid profile describes.
func mustBuild(t *testing.T, p *Profile) {
	t.Helper()
	load, err := p.PlanSpec(p.Capacity())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := plan.New(load); err != nil {
		t.Errorf("plan: %v", err)
	}
	p.ClientOptions()
	if p.Target == nil {
		return
	}
	spec, err := p.Server()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := server.New(spec); err != nil {
		t.Errorf("server: %v", err)
	}
	if p.Topology != nil {
		if _, err := p.Fleet(); err != nil {
			t.Errorf("fleet: %v", err)
		}
	}
	for i := range p.Faults {
		layer, numbers := p.Hits(i)
		for _, n := range numbers {
			if _, err := p.NewFault(i, layer, n); err != nil {
				t.Errorf("fault %d: %v", i, err)
			}
		}
	}
}

func TestEmbedded(t *testing.T) {
	entries, err := Names()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name)
	}
	if !slices.IsSorted(got) || len(slices.Compact(slices.Clone(got))) != len(got) {
		t.Errorf("embedded profiles are %v, want each once, sorted", got)
	}
	for _, name := range compared {
		if !slices.Contains(got, name) {
			t.Errorf("there is no profile %s", name)
		}
	}
	for _, e := range entries {
		t.Run(e.Name, func(t *testing.T) {
			if e.Doc == "" || strings.ContainsAny(e.Doc, "\n") || strings.HasSuffix(e.Doc, ".") {
				t.Errorf("doc is %q, want one line without a full stop", e.Doc)
			}
			text, err := embedded.ReadFile(e.Name + ".yaml")
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(string(text), "# ") {
				t.Error("it does not start with a comment that says what it shows")
			}
			p, err := Load(e.Name, Overrides{})
			if err != nil {
				t.Fatal(err)
			}
			if p.Name != e.Name || p.Hypothesis == "" || len(p.Checks) == 0 {
				t.Errorf("name %q, hypothesis %q, %d checks; want the file's name and some of each", p.Name, p.Hypothesis, len(p.Checks))
			}
			mustBuild(t, p)
			if slices.Contains(compared, e.Name) && p.Capacity() != 500 {
				t.Errorf("capacity is %v, want 500: these profiles are compared with each other", p.Capacity())
			}
		})
	}
}

func TestClasses(t *testing.T) {
	p := mustLoad(t, small+`client:
  timeout: 100ms
  deadline: 250ms
  classes:
    - {name: a, weight: 0, criticality: sheddable, tenant: t, cost: 2, timeout: 40ms}
    - {name: b}
`, Overrides{})
	want := []plan.Class{
		{Name: "a", Weight: 0, Criticality: int(protection.Sheddable), Tenant: "t", Cost: 2, Timeout: 40 * time.Millisecond, Deadline: 190 * time.Millisecond},
		{Name: "b", Weight: 1, Criticality: int(protection.Critical), Cost: 1, Timeout: 100 * time.Millisecond, Deadline: 250 * time.Millisecond},
	}
	if diff := cmp.Diff(want, p.Classes()); diff != "" {
		t.Errorf("classes (-want +got):\n%s", diff)
	}
	if got := mustLoad(t, small, Overrides{}).Classes(); len(got) != 1 || got[0].Name != "default" {
		t.Errorf("without classes there is %+v, want one named default", got)
	}
}

func TestPhases(t *testing.T) {
	p := mustLoad(t, `target: {}
load:
  phases:
    - {kind: ramp, to: 1x, for: 1s}
    - {kind: ramp, to: 60/m, for: 2s}
    - {kind: spike, rate: 3x, for: 3s}
    - {kind: ramp, to: 0, for: 4s}
    - {kind: ramp, from: 5, to: 6, for: 4s}
    - {kind: sweep, from: 100, to: 10x, hold: 5s}
`, Overrides{})
	want := []plan.Phase{
		{Kind: plan.Ramp, From: 0, To: 500, For: time.Second},
		{Kind: plan.Ramp, From: 500, To: 1, For: 2 * time.Second},
		{Kind: plan.Spike, Rate: 1500, For: 3 * time.Second},
		{Kind: plan.Ramp, From: 1500, To: 0, For: 4 * time.Second},
		{Kind: plan.Ramp, From: 5, To: 6, For: 4 * time.Second},
		{Kind: plan.Sweep, From: 100, To: 5000, Ratio: 1.5, Hold: 5 * time.Second, Passes: 1},
	}
	got, err := p.Phases(500)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("phases at 500/s (-want +got):\n%s", diff)
	}
	if _, err := p.Phases(0); err == nil || !strings.Contains(err.Error(), "capacity that is not known") {
		t.Errorf("multiples of nothing: got %v", err)
	}
}

// TestStreams: each plug-in has a random stream of its own, which a change of
// another does not shift and a reset repeats.
func TestStreams(t *testing.T) {
	p := mustLoad(t, small, Overrides{})
	var draws []uint64
	for _, name := range []string{"target.order", "target.protections.0", "target.protections.1"} {
		draws = append(draws, p.stream(name).Uint64())
		if p.stream(name).Uint64() != draws[len(draws)-1] {
			t.Errorf("%s: the same stream differs", name)
		}
	}
	slices.Sort(draws)
	if len(slices.Compact(draws)) != 3 {
		t.Error("two plug-ins share a stream")
	}
	seed := uint64(2)
	if mustLoad(t, small, Overrides{Seed: &seed}).stream("target.order").Uint64() == p.stream("target.order").Uint64() {
		t.Error("the stream does not depend on the seed")
	}
}
