package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"knee/generator/live"
	"knee/generator/plan"
	"knee/generator/record"
	"knee/generator/virtual"
	"knee/profiles"
	"knee/target/protection"
	"knee/target/serve"
)

// The flagship test: the live shell, with net/http on both sides and in-memory
// connections between them, and the virtual shell give the same records, for
// every protection and every embedded profile.
func TestBothWorldsGiveTheSameRecords(t *testing.T) {
	for _, name := range singleServers(t) {
		if testing.Short() && name != "mixed-classes" {
			continue // -short is for the race detector: one is as good as another
		}
		t.Run("profile/"+name, func(t *testing.T) {
			compareWorlds(t, http1, name, profiles.Overrides{})
		})
	}
	knobs := map[string]string{"queue_bound": ":count=20", "limit": ":limit=25", "rate": ":rate=400,burst=20", "brownout": ":setpoint=500ms"}
	for _, info := range protection.Registry.All() {
		if info.Wall || testing.Short() && info.Name != "breakwater" {
			continue // virtual time has no clock for it to read
		}
		t.Run("protection/"+info.Name, func(t *testing.T) {
			compareWorlds(t, http1, "default", profiles.Overrides{Protect: info.Name + knobs[info.Name]})
		})
	}
}

// What callers do with their attempts is the same in both worlds as well, each
// behaviour alone, all of them together, and with callers that hang up. The server
// has a bound alone: where a worker ends one request and drops another at one
// instant, the two answers, and what each of them lets go, come in either order.
func TestBothWorldsGiveTheSameBehaviours(t *testing.T) {
	const (
		retry    = "{kind: retry, max_attempts: 3}"
		budget   = "{kind: retry_budget, rule: %s, ratio: 0.5}"
		throttle = "{kind: throttle, per: all, window: 1s, k: 1.5}"
		hedge    = "{kind: hedge, delay: 30ms, max_attempts: 3}"
		breaker  = "{kind: breaker, failures: 3, timeout: 50ms}"
		window   = "{kind: window, credits: 5, per: all}"
		blocking = "{kind: blocking, max_in_flight: 1, buffer: 1, max_block: 20ms}"
	)
	rule := func(name string) string { return fmt.Sprintf(budget, name) }
	cases := map[string][]string{
		"retry": {retry}, "throttle": {throttle}, "hedge": {hedge}, "breaker": {breaker}, "window": {window}, "blocking": {blocking},
		"granted":         {"{kind: window, credits: 1}"},
		"by quantile":     {"{kind: hedge}"},
		"without jitter":  {"{kind: retry, backoff: {base: 0s, cap: 0s, jitter: none}}"},
		"ratio":           {retry, rule("ratio")},
		"finagle":         {retry, rule("finagle")},
		"envoy":           {retry, rule("envoy")},
		"grpc":            {retry, hedge, rule("grpc")},
		"hedged retries":  {retry, hedge},
		"retried hedges":  {hedge, retry},
		"breaker outside": {breaker, retry},
		"all":             {throttle, retry, rule("ratio"), hedge, breaker, window, blocking},
	}
	for name, chain := range cases {
		if testing.Short() && name != "all" {
			continue
		}
		protect := "queue_bound:count=20"
		if name == "granted" {
			protect = "breakwater"
		}
		for _, end := range []string{"listen", "close"} {
			t.Run(name+"/"+end, func(t *testing.T) {
				set := []string{"client.behaviours=[" + strings.Join(chain, ", ") + "]", "client.on_timeout=" + end}
				if name == "retried hedges" {
					// A hedge that follows at once, and the retry of what it follows, leave at
					// one instant and arrive in either order: they have to be alike.
					set = append(set, "target.service.per=request")
				}
				n := compareWorlds(t, http1, "default", profiles.Overrides{Protect: protect, Set: set})
				if n.Attempts == n.Sent && n.Withheld == 0 {
					t.Errorf("%d attempts of %d originals, none withheld: the case shows nothing of its behaviours", n.Attempts, n.Sent)
				}
			})
		}
	}
}

// singleServers returns the embedded profiles that both worlds can run: those
// without a topology.
func singleServers(t *testing.T) []string {
	t.Helper()
	return slices.DeleteFunc(embeddedProfiles(t), func(name string) bool {
		p, err := profiles.Load(name, profiles.Overrides{})
		if err != nil {
			t.Fatal(err)
		}
		return p.Topology != nil
	})
}

func embeddedProfiles(t *testing.T) []string {
	t.Helper()
	entries, err := profiles.Names()
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name)
	}
	return names
}

// A face is a way to speak to the server.
type face func(o *live.Options)

func http1(*live.Options) {}

func h2c(o *live.Options) { o.Engine = live.H2 }

func overGRPC(o *live.Options) {
	o.Engine = live.H2
	o.Requests = []live.Request{{
		Method: http.MethodPost, Path: serve.WorkMethod, GRPC: true, Body: make([]byte, 5),
		Header: http.Header{"Content-Type": {"application/grpc"}, "Te": {"trailers"}},
	}}
}

// HTTP/2 and gRPC reach the same core, and tell callers the same.
func TestBothWorldsGiveTheSameRecordsOverOtherFaces(t *testing.T) {
	for name, f := range map[string]face{"h2c": h2c, "grpc": overGRPC} {
		for _, protect := range []string{"queue_bound:count=20", "deadline", "codel", "breakwater", "rate:rate=400,burst=20", "none"} {
			if testing.Short() && protect != "breakwater" {
				continue
			}
			t.Run(name+"/"+protect, func(t *testing.T) {
				compareWorlds(t, f, "default", profiles.Overrides{Protect: protect})
			})
		}
	}
}

// compareWorlds runs a healthy load, an overload and a light load, at most
// 2,000 arrivals in all, in both worlds, and returns what became of them.
func compareWorlds(t *testing.T, f face, name string, o profiles.Overrides) record.Counts {
	p, err := profiles.Load(name, o)
	if err != nil {
		t.Fatal(err)
	}
	p.Target.Service.CPU = false // no CPU burns on a clock that stands still meanwhile
	spec, err := p.PlanSpec(p.Capacity())
	if err != nil {
		t.Fatal(err)
	}
	part := time.Duration(float64(200*time.Second) / p.Capacity())
	part = max(part, 4*time.Duration(p.Client.Timeout)/5) // an overload that no caller outwaits is none
	most := time.Duration(float64(550*time.Second) / p.Capacity())
	patient := part > most // no overload of this size is
	part = min(part, most)
	spec.Jitter = true
	for i := range spec.Classes { // their own phases are longer than this load
		if c := &spec.Classes[i]; c.Phases != nil {
			c.Phases, c.Weight = nil, 1
		}
	}
	own := lasts(spec.Phases)
	spec.Phases = []plan.Phase{
		{Kind: plan.Hold, Rate: 0.7 * p.Capacity(), For: part},
		{Kind: plan.Spike, Rate: 2.5 * p.Capacity(), For: part},
		{Kind: plan.Hold, Rate: 0.4 * p.Capacity(), For: part},
	}
	load, err := plan.New(spec)
	if err != nil {
		t.Fatal(err)
	}
	if n := load.Count(); n < 300 || n > 2000 {
		t.Fatalf("%d arrivals: want 300 to 2000, so that the case says something and stays quick", n)
	}
	squeeze(p, own, load.Duration())
	inVirtual := inVirtualWorld(t, p, load)
	if n := inVirtual.Total; n.Good == 0 || n.Good == n.Planned && n.Attempts == n.Planned && !patient {
		t.Errorf("good: %d of %d, at the first attempt; want some and not all, or the case says little", n.Good, n.Planned)
	}
	synctest.Test(t, func(t *testing.T) {
		inLive := inLiveWorld(t, f, p, load)
		if diff := cmp.Diff(inVirtual, inLive); diff != "" {
			t.Errorf("records differ (-virtual +live):\n%s", diff)
		}
	})
	return inVirtual.Total.Counts
}

// records are everything that a Series knows.
type records struct {
	Total    record.Tally
	ByEnding []record.Counts
	Steps    []stepRecords
}

type stepRecords struct {
	Info                                 record.StepInfo
	Total                                record.Tally
	ByClass                              []record.Tally
	Response, Service, Reject, Late, Lag record.Quantiles
	ByPlanned                            []record.Counts
	Seconds                              []record.Quantiles
}

func recordsOf(s *record.Series) records {
	r := records{Total: s.Total(), ByEnding: s.ByEnding()}
	for _, step := range s.Steps() {
		r.Steps = append(r.Steps, stepRecords{
			Info: step.Info, Total: step.Total, ByClass: step.ByClass,
			Response: step.Response, Service: step.Service, Reject: step.Reject, Late: step.Late, Lag: step.Lag,
			ByPlanned: step.ByPlanned, Seconds: step.Seconds,
		})
	}
	return r
}

func newRecords(p *profiles.Profile) (*record.Series, *record.Recorder) {
	series := record.NewSeries(classNames(p))
	return series, record.NewRecorder(record.RecorderOptions{
		Classes:    classNames(p),
		MaxLatency: longestTimeout(p) + p.ClientOptions().Grace,
		Sink:       func(d *record.Delta) { series.Add(d); d.Release() },
	})
}

func inVirtualWorld(t *testing.T, p *profiles.Profile, load *plan.Plan) records {
	t.Helper()
	series, recorder := newRecords(p)
	spec, err := p.Server()
	if err != nil {
		t.Fatal(err)
	}
	d, err := virtual.New(virtual.Options{Server: spec, Client: p.ClientOptions(), Recorder: recorder})
	if err != nil {
		t.Fatal(err)
	}
	faults := newInjections(p, newVirtualFaults(p, d, nil), nil)
	d.Schedule(faults.cues(load.Duration()))
	if err := d.Run(context.Background(), 0, load); err != nil {
		t.Fatal(err)
	}
	if n := len(faults.windows); n != len(p.Faults) {
		t.Errorf("%d of %d faults came: %v", n, len(p.Faults), faults.warnings)
	}
	return recordsOf(series)
}

func inLiveWorld(t *testing.T, f face, p *profiles.Profile, load *plan.Plan) records {
	t.Helper()
	config, err := serverConfig(p)
	if err != nil {
		t.Fatal(err)
	}
	server, err := serve.New(config)
	if err != nil {
		t.Fatal(err)
	}
	wire := newMemoryListener()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- server.Serve(ctx, wire, 0) }()

	series, recorder := newRecords(p)
	target, err := live.ParseTarget("http://memory.localhost:80/")
	if err != nil {
		t.Fatal(err)
	}
	options := live.Options{
		Target: target, Client: p.ClientOptions(), Recorder: recorder, Knee: true, Coarse: true,
		HTTP: live.HTTP{Dial: wire.dial},
	}
	f(&options)
	d, err := live.New(options)
	if err != nil {
		t.Fatal(err)
	}
	faults := newInjections(p, servedFaults{server}, nil)
	d.Schedule(faults.cues(load.Duration()))
	if err := d.Run(context.Background(), 0, load); err != nil {
		t.Error(err)
	}
	if n := len(faults.windows); n != len(p.Faults) {
		t.Errorf("%d of %d faults came: %v", n, len(p.Faults), faults.warnings)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
	return recordsOf(series)
}

// A memoryListener hands out connections that never leave the process.
type memoryListener struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newMemoryListener() *memoryListener {
	return &memoryListener{conns: make(chan net.Conn), done: make(chan struct{})}
}

func (l *memoryListener) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case l.conns <- far:
		return near, nil
	case <-l.done:
		return nil, errors.New("connection refused")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (l *memoryListener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.done:
		return nil, fmt.Errorf("memory listener: %w", net.ErrClosed)
	}
}

func (l *memoryListener) Close() error {
	l.once.Do(func() { close(l.done) })
	return nil
}

func (l *memoryListener) Addr() net.Addr { return &net.UnixAddr{Name: "memory", Net: "unix"} }
