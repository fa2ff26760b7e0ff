package profiles

import (
	"bytes"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"knee/target/fleet"
)

// wide is a profile that says everything about a topology.
const wide = `
target: {workers: 10, service: {mean: 10ms}, protections: [{kind: queue_bound, count: 100}]}
topology:
  servers: 3
  balancer: {kind: fastest, rejections: failure, decay: 2s}
  reject_time: 1ms
  crash: {at_queue: 1000, restart_after: 5s}
  health: {interval: 2s, protected: true}
  ejection: {max: 0.3}
  autoscaler: {signal: demand, min: 2, max: 8}
  pools: {instances: 100, connections: 50}
  call: {timeout: 50ms, say_no_retry: true, behaviours: [{kind: test_patient}], propagate: {criticality: false}}
  layers:
    - {name: middle, servers: 2, workers: 5, service: {kind: constant, mean: 2ms}, balancer: {kind: two_choices}, call: {async: true, propagate: {deadline: false}}}
    - {name: back, workers: 20, order: {kind: lifo}, protections: [{kind: limit, limit: 9}], reject_cost: 0.1}
load: {phases: [{kind: hold, rate: 0.7x, for: 10s}]}
`

const oneHold = "load: {phases: [{kind: hold, rate: 70, for: 10s}]}\n"

func TestTopology(t *testing.T) {
	p := mustLoad(t, wide, Overrides{})
	again := mustLoad(t, string(p.YAML()), Overrides{})
	if diff := cmp.Diff(p, again); diff != "" {
		t.Errorf("resolved (-want +got):\n%s\n%s", diff, p.YAML())
	}
	schema := compileSchema(t)
	for _, text := range [][]byte{[]byte(wide), p.YAML()} {
		v, err := asJSON(text)
		if err == nil {
			err = schema.Validate(v)
		}
		if err != nil {
			t.Errorf("the schema refuses it: %v\n%s", err, text)
		}
	}
	// front: 3 · 10 / 10ms; middle: 2 · 5 / 2ms; back: 20 / 10ms
	if got := p.Capacity(); got != 2000 {
		t.Errorf("capacity %v, want that of the back, 2000", got)
	}
	spec, err := p.Fleet()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fleet.New(spec); err != nil {
		t.Fatal(err)
	}
	front, middle := spec.Layers[0], spec.Layers[1]
	if front.Name != "front" || len(spec.Layers) != 3 || spec.Layers[2].Name != "back" {
		t.Errorf("layers %+v", spec.Layers)
	}
	if h := front.Hop; h.Timeout != 50*time.Millisecond || h.Behaviours == nil || h.DropDeadline || !h.DropCriticality || !h.SayNoRetry || h.Async {
		t.Errorf("the front calls with %+v", h)
	}
	if h := middle.Hop; h.Behaviours != nil || !h.DropDeadline || h.DropCriticality || !h.Async {
		t.Errorf("the middle calls with %+v", h)
	}
	if front.Scaler.Max != 8 || front.Health.Timeout != fleet.DefaultHealth().Timeout || !front.Health.Protected || front.Ejection.After != 5 || front.Crash.AtQueue != 1000 || spec.Pools.Connections != 50 {
		t.Errorf("front %+v, pools %+v", front, spec.Pools)
	}
	if middle.Health != (fleet.Health{}) || middle.Scaler != (fleet.Scaler{}) || middle.Ejection != (fleet.Ejection{}) {
		t.Errorf("middle %+v, want none of what it does not ask for", middle)
	}
}

// A topology of nothing but defaults is one server behind a balancer, and its
// plug-ins draw the random numbers of a lone target.
func TestTopologyOfOne(t *testing.T) {
	p := mustLoad(t, "topology: {servers: 1}\ntarget: {workers: 4}\n"+oneHold, Overrides{})
	if got := p.Capacity(); got != 400 {
		t.Errorf("capacity %v, want 400", got)
	}
	if numbered("target.order", 0) != "target.order" || numbered("target.order", 1) == numbered("target.order", 2) {
		t.Error("streams by server are not told apart, or that of the first one is not the lone target's")
	}
	if !bytes.Contains(p.YAML(), []byte("topology:")) {
		t.Errorf("resolved without a topology:\n%s", p.YAML())
	}
}

func TestTopologyPlaces(t *testing.T) {
	top := mustLoad(t, wide, Overrides{}).Topology
	for name, want := range map[string][3]int{
		"0": {0, 0, 1}, "front/0": {0, 0, 1}, "7": {0, 7, 1}, "8": {0, 8, 0}, // up to the most that the autoscaler may start
		"middle/1": {1, 1, 1}, "middle/2": {1, 2, 0}, "back/0": {2, 0, 1}, "rear/0": {0, 0, 0}, "x": {0, 0, 0}, "middle/": {1, 0, 0},
	} {
		layer, number, ok := top.Place(name)
		if got := [3]int{layer, number, map[bool]int{true: 1}[ok]}; got != want {
			t.Errorf("%s: layer, number, found %v, want %v", name, got, want)
		}
	}
}

func TestTopologyFaults(t *testing.T) {
	for _, c := range []struct {
		name string
		text string
		want []string
	}{
		{"without a target", "topology: {servers: 3}\n" + oneHold, []string{
			`p.yaml:1:11: topology: there is no target: want …`,
		}},
		{"out of range", `target: {}
topology:
  servers: 1001
  balancer: {kind: fastest, rejections: ignore, decay: 0s}
  crash: {at_queue: 0}
  health: {interval: 1s, timeout: 2s, unhealthy_after: 0, panic: 2}
  ejection: {after: 0, for: 0s, max: -1}
  autoscaler: {signal: gut, target: 0, min: 5, max: 3, interval: 0s}
  pools: {instances: 0, connections: 0}
  call: {timeout: 25h}
  layers: [{name: back, workers: 0, service: {mean: 0s}, reject_cost: 2, degraded: 0, protections: [{kind: limit}]}]
` + oneHold, []string{
			`p.yaml:3:12: topology.servers is 1001: want a number from 1 to 1000`,
			`p.yaml:4:41: topology.balancer.rejections is "ignore": want answer or failure`,
			`p.yaml:4:56: topology.balancer.decay is 0s: want …`,
			`p.yaml:5:21: topology.crash.at_queue is 0: want at least 1`,
			`p.yaml:6:35: topology.health.timeout is 2s: want a duration above 0, up to the interval, 1s`,
			`p.yaml:6:56: topology.health.unhealthy_after is 0: want at least 1`,
			`p.yaml:6:66: topology.health.panic is 2: want …`,
			`p.yaml:7:21: topology.ejection.after is 0: want …`,
			`p.yaml:7:29: topology.ejection.for is 0s: want …`,
			`p.yaml:7:38: topology.ejection.max is -1: want …`,
			`p.yaml:8:24: topology.autoscaler.signal is "gut": want cpu or demand`,
			`p.yaml:8:37: topology.autoscaler.target is 0: want …`,
			`p.yaml:8:53: topology.autoscaler.max is 3: want …`,
			`p.yaml:8:66: topology.autoscaler.interval is 0s: want …`,
			`p.yaml:9:22: topology.pools.instances is 0: want …`,
			`p.yaml:9:38: topology.pools.connections is 0: want …`,
			`p.yaml:10:19: topology.call.timeout is 25h0m0s: want …`,
			`p.yaml:11:34: topology.layers.0.workers is 0: want …`,
			`p.yaml:11:53: topology.layers.0.service.mean is 0s: want …`,
			`p.yaml:11:71: topology.layers.0.reject_cost is 2: want …`,
			`p.yaml:11:84: topology.layers.0.degraded is 0: want …`,
			`p.yaml:11:101: topology.layers.0.protections.0.limit is 0: want …`,
		}},
		{"names and calls", `target: {}
topology:
  call: {timeout: 1s}
  layers:
    - {servers: 2}
    - {name: front}
    - {name: a b, call: {async: true}}
` + oneHold, []string{
			`p.yaml:5:7: topology.layers.0 has no name: want a name for each layer`,
			`p.yaml:6:14: topology.layers.1.name is "front": want a name that no other layer has; taken are front…`,
			`p.yaml:7:14: topology.layers.2.name is "a b": want letters, digits, _, - and .`,
			`p.yaml:7:25: topology.layers.2.call: there is no layer to call: want …`,
		}},
		{"misspelt", "target: {}\ntopology: {srevers: 3, balancer: {kind: fatsest}, layers: [{name: x, health: {intervall: 1s}}]}\n" + oneHold, []string{
			`p.yaml:2:12: unknown key "srevers" in topology; did you mean "servers"?: known are …`,
			`p.yaml:2:41: unknown balancer "fatsest"; did you mean "fastest"?: known are …`,
			`p.yaml:2:79: unknown key "intervall" in topology.layers.0.health; did you mean "interval"?: known are …`,
		}},
		{"batches that wait", "target: {batch: {size: 5}}\ntopology: {layers: [{name: back}]}\n" + oneHold, []string{
			`p.yaml:1:17: target.batch: a worker that waits for topology.layers takes one request at a time: want no batch, or topology.call.async: true`,
		}},
		{"no such server", "target: {}\ntopology: {servers: 3}\nfaults: [{kind: test_injury, server: 3}, {kind: test_injury, server: front/2}, {kind: test_injury, server: back/0}]\n" + oneHold, []string{
			`p.yaml:3:38: faults.0.server is 3: want a server of the topology, numbered from 0, such as front/0`,
			`p.yaml:3:108: faults.2.server is back/0: want …`,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := load(c.text, Overrides{})
			wantFaults(t, err, c.want...)
		})
	}
}
