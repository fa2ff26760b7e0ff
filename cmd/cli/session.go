package cli

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"knee/analysis"
	"knee/ci/report"
	"knee/ci/verdict"
	"knee/generator/client"
	"knee/generator/live"
	"knee/generator/plan"
	"knee/generator/record"
	"knee/generator/virtual"
	"knee/profiles"
	"knee/target/fleet"
	"knee/target/serve"
	"knee/target/server"
)

// A session is one run: a driver on one server, the records that add up, and
// the folder in which they are kept.
type session struct {
	w       *world
	o       *runOptions
	verb    string
	asked   verdict.Question
	profile *profiles.Profile
	series  *record.Series
	folder  *record.Folder // nil: the run is not kept
	driver  driver
	live    *live.Driver // nil in virtual time
	out     *outgoing    // nil when the server is ours
	fleet   *fleet.Fleet // nil without a topology
	child   *child       // nil when the server is not ours
	faults  *injections  // nil when the profile has none
	gauges  gauges
	watch   watch
	placed  placement
	counts  func(context.Context) (server.Counts, error)
	serving *profiles.Profile // of the server of ours that is there, when it is not that of profile
	earlier server.Counts     // of servers of ours that this one took the place of
	open    float64           // how many requests can be open while they are answered in time
	trials  int
	meta    analysis.Meta
	began   time.Time
}

// open loads the profile and starts whatever the run needs. peak is the highest
// rate that the run may offer, for the bound of what is in flight; 0 when it is
// not known.
func open(ctx context.Context, w *world, o *runOptions, verb, profile string, peak func(*profiles.Profile) float64) (s *session, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	s = &session{w: w, o: o, verb: verb, asked: questionOf(verb)}
	if o.request.targets == "-" && profile == "-" {
		return nil, fail(verdict.CodeUsage, "--targets - with the profile -: one of them can be on stdin")
	}
	if s.profile, err = loadProfile(w, o, profile); err != nil {
		return nil, err
	}
	if o.guarded {
		s.watch.guards = s.profile.Guards
	}
	if o.gate != nil && !o.pair.wanted() {
		if err := o.gate.wants(s.profile); err != nil {
			return nil, err
		}
	}
	if s.profile.Topology != nil && !o.virtual {
		return nil, fail(verdict.CodeUsage, "profile %s has a topology: want --virtual, several servers are in virtual time only", s.profile.Name)
	}
	var there *reached
	if o.remote() {
		if s.out, err = o.outgoing(s.profile.Seed, w.stdin); err != nil {
			return nil, err
		}
		if there, err = s.reach(ctx); err != nil {
			return nil, err
		}
	}
	s.describe()
	classes := classNames(s.profile)
	s.series = record.NewSeries(classes)
	if o.out != "" {
		if s.folder, err = record.Create(o.out, record.CreateOptions{Classes: classes, Profile: s.profile.YAML()}); err != nil {
			return nil, fail(verdict.CodeUsage, "--out: %w", err)
		}
		s.saveMeta()
	}
	recorder := record.NewRecorder(record.RecorderOptions{
		Classes:    classes,
		MaxLatency: s.longest() + s.profile.ClientOptions().Grace,
		Sink:       s.sink,
	})
	if err := s.start(ctx, recorder, there, peak(s.profile)); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// urlProfile is the profile of a server at --url when none is named. People
// wait longer for a server of their own than the built-in one is given.
const urlProfile = `
name: url
client: {timeout: 1s, grace: 1s}
load: {arrivals: poisson, phases: [{kind: hold, rate: 1x, for: 1s}]}
`

// questionOf returns what a verb asks beside the checks.
func questionOf(verb string) verdict.Question {
	switch verb {
	case "find":
		return verdict.KneeAndPlateau
	case costVerb:
		return verdict.RejectionCost
	}
	return verdict.ChecksOnly
}

// loadProfile loads the named profile under the flags' overrides. Without a
// name it is the default profile, or its client alone for a server at --url.
func loadProfile(w *world, o *runOptions, name string) (*profiles.Profile, error) {
	capacity, err := o.capacityRPS()
	if err != nil {
		return nil, err
	}
	over := profiles.Overrides{
		Set: o.set, Protect: o.protect, Order: o.order, Timeout: o.timeout,
		Capacity: capacity, URL: o.remote(), Virtual: o.virtual, Stdin: w.stdin,
	}
	if o.seedSet {
		over.Seed = &o.seed
	}
	switch {
	case name == "" && o.remote():
		name, over.Stdin = "-", strings.NewReader(urlProfile)
	case name == "":
		name = "default"
	}
	p, err := profiles.Load(name, over)
	if err != nil {
		return nil, fail(verdict.CodeUsage, "%w", err)
	}
	return p, nil
}

// Reached servers are not ours and take connections.
type reached struct {
	target *live.Target // the first
	routes *live.Routes // to all
}

// reach finds out whether load may be sent to the servers, and whether they can
// be connected to.
func (s *session) reach(ctx context.Context) (*reached, error) {
	if err := s.o.checkSchemes(s.out); err != nil {
		return nil, err
	}
	http, err := s.o.request.network()
	if err != nil {
		return nil, err
	}
	routes, err := live.NewRoutes(http, s.out.targets...)
	if err != nil {
		return nil, fail(verdict.CodeUsage, "%w", err)
	}
	if idle := routes.Unused(); len(idle) > 0 {
		return nil, fail(verdict.CodeUsage, "--connect-to %s: no request goes there, or an earlier --connect-to takes them all: want the host and port of a URL", s.o.request.connect[idle[0]])
	}
	if err := routes.Check(s.o.allow); err != nil {
		return nil, fail(verdict.CodeNotStarted, "%w", err)
	}
	if err := s.o.unwatched(routes); err != nil {
		return nil, err
	}
	if err := routes.Reach(ctx); err != nil {
		if wrong := (*tls.CertificateVerificationError)(nil); errors.As(err, &wrong) {
			return nil, fail(verdict.CodeNotStarted, "%w; with --insecure it is not checked", err)
		}
		return nil, fail(verdict.CodeNotStarted, "%w", err)
	}
	return &reached{target: s.out.targets[0], routes: routes}, nil
}

// start builds the driver, and the server where it is ours.
func (s *session) start(ctx context.Context, recorder *record.Recorder, there *reached, peak float64) error {
	s.began = s.w.now()
	population := s.profile.ClientOptions()
	if s.o.virtual {
		options := virtual.Options{Client: population, Recorder: recorder, Observe: s.gauge}
		if err := s.build(&options); err != nil {
			return fail(verdict.CodeUsage, "%w", err)
		}
		d, err := virtual.New(options)
		if err != nil {
			return fail(verdict.CodeUsage, "%w", err)
		}
		s.driver = d
		s.counts = func(context.Context) (server.Counts, error) { return d.Counts(), nil }
		if len(s.profile.Faults) > 0 {
			s.faults = newInjections(s.profile, newVirtualFaults(s.profile, d, s.fleet), s.event)
		}
		return nil
	}
	asked := peak
	if population.MaxInFlight == 0 {
		known := peak > 0
		if !known {
			peak = plan.MaxRate
		}
		attempts := float64(client.Attempts(population.Behaviours))
		ports := 0 // those of a server of ours suffice: see live.Routes.Ports
		if there != nil {
			ports = there.routes.Ports()
		}
		bound := live.AutoInFlight(attempts*peak, s.longest(), population.Grace, ports)
		population.MaxInFlight = bound.N
		if known && bound.By != "load" {
			s.meta.Warnings = append(s.meta.Warnings, bound.String())
		}
	}
	if s.verb == costVerb {
		s.place(there == nil, asked) // that the server's CPU gets full is what is measured
	} else {
		s.place(there == nil, peak)
	}
	options := live.Options{Client: population, Recorder: recorder, Observe: s.observe, Tick: time.Duration(s.profile.Load.Tick)}
	var err error
	if options.Engine, err = s.o.protocol(); err != nil {
		return err
	}
	if options.HTTP, err = s.o.request.network(); err != nil {
		return err
	}
	if there != nil {
		options.Target, options.Routes = there.target, there.routes
		options.Requests, options.Order = s.out.requests, s.out.order
		if s.o.request.call.call != "" {
			if options.Requests, err = s.o.request.calls(ctx, there); err != nil {
				return err
			}
		}
		if options.Rules, err = s.o.request.rules(); err != nil {
			return err
		}
	} else {
		if err := s.checkFace(options.Engine); err != nil {
			return err
		}
		if err := s.spawn(ctx); err != nil {
			return err
		}
		own, err := live.ParseTarget("http://" + s.child.Addr + "/")
		if err != nil {
			return fail(verdict.CodeInternal, "address of the built-in server: %w", err)
		}
		options.Target, options.Knee = own, true
		options.Reset = func(ctx context.Context) error { return s.child.Reset(ctx) }
		if s.o.request.call.call != "" {
			if options.Routes, err = live.NewRoutes(options.HTTP, own); err != nil {
				return fail(verdict.CodeInternal, "%w", err)
			}
			if err := options.Routes.Reach(ctx); err != nil {
				return fail(verdict.CodeNotStarted, "%w", err)
			}
			if options.Requests, err = s.o.request.calls(ctx, &reached{target: own, routes: options.Routes}); err != nil {
				return err
			}
		}
	}
	d, err := live.New(options)
	if err != nil {
		return fail(verdict.CodeUsage, "%w", err)
	}
	s.driver, s.live = d, d
	if s.child != nil {
		s.open = min(peak*s.longest().Seconds(), float64(population.MaxInFlight))
		if err := s.warm(ctx, s.profile.Target.ShedAt); err != nil {
			return err
		}
	}
	if s.child != nil && len(s.profile.Faults) > 0 {
		s.faults = newInjections(s.profile, childFaults{s.child}, s.event)
	}
	return nil
}

// mostWarm is how many connections to a server of ours are opened beforehand.
const mostWarm = 4000

// warm opens the connections that a server of ours can need. A load that begins at its
// full rate would be late by what it takes to open them: 5 ms at 20,000/s. One
// that refuses callers as they connect gets none, for it would count them.
func (s *session) warm(ctx context.Context, stage string) error {
	if stage == string(serve.Accept) {
		return nil
	}
	if err := s.live.Warm(ctx, int(min(s.open, mostWarm))); err != nil {
		return fail(verdict.CodeNotStarted, "%w", err)
	}
	return nil
}

// place says where this process runs, and a server that is ours, under a load of
// up to peak.
func (s *session) place(ours bool, peak float64) {
	pin, most := pinOff, 0.0
	if ours {
		pin, most = s.o.pin, perCPU(serve.Stage(s.profile.Target.ShedAt))
	}
	s.placed = place(pin, peak, most)
	m := &s.meta.Machine
	if m.Placement = s.placed.bound; m.Placement != nil {
		s.meta.CPUs = min(s.meta.CPUs, float64(s.placed.generators))
	}
	if s.folder != nil {
		s.saveMeta()
	}
}

// build fills in what takes the requests in virtual time: the target, or the
// fleet of a topology.
func (s *session) build(o *virtual.Options) (err error) {
	if s.profile.Topology == nil {
		o.Server, err = s.profile.Server()
		return err
	}
	spec, err := s.profile.Fleet()
	if err != nil {
		return err
	}
	spec.Notice = s.notice
	if s.fleet, err = fleet.New(spec); err != nil {
		return err
	}
	o.Target = s.fleet
	return nil
}

// notice keeps what happened to a server of a fleet.
func (s *session) notice(e fleet.Event) {
	s.event(record.Event{At: e.At, Kind: "server_" + string(e.What), Text: fmt.Sprintf("%s/%d %s", e.Layer, e.Server, e.What)})
}

// spawn starts the built-in server as a process of its own.
func (s *session) spawn(ctx context.Context) error {
	c, err := startChild(ctx, s.profile.YAML(), s.placed.server)
	if err != nil {
		return fail(verdict.CodeNotStarted, "starting the built-in server: %w", err)
	}
	s.child, s.counts = c, s.counted
	return nil
}

// counted returns what servers of ours counted, all together.
func (s *session) counted(ctx context.Context) (server.Counts, error) {
	n, err := s.child.Counts(ctx)
	return n.Plus(s.earlier), err
}

// renew has a fresh process take the place of the built-in server, which is the one of
// p.
func (s *session) renew(ctx context.Context, p *profiles.Profile) error {
	c, err := startChild(ctx, p.YAML(), s.placed.server)
	if err != nil {
		return fail(verdict.CodeNotStarted, "starting the built-in server: %w", err)
	}
	counted, err := s.counted(ctx)
	if err != nil {
		return errors.Join(fail(verdict.CodeNotStarted, "%w", err), c.Close())
	}
	last := s.child
	s.child, s.earlier = c, counted
	own, err := live.ParseTarget("http://" + c.Addr + "/")
	if err == nil {
		err = s.live.Turn(own)
	}
	if err = errors.Join(err, last.Close()); err != nil {
		return fail(verdict.CodeInternal, "%w", err)
	}
	return s.warm(ctx, p.Target.ShedAt)
}

// sink adds what was recorded to the series, and to the folder when there is one.
func (s *session) sink(d *record.Delta) {
	s.series.Add(d)
	window := d.Window
	if s.folder == nil {
		d.Release()
	} else {
		s.folder.Write(d)
	}
	s.lookOut(window)
}

// trial offers phases as the next trial and returns their steps.
func (s *session) trial(ctx context.Context, phases []plan.Phase) ([]*record.Step, error) {
	return s.seeded(ctx, s.trials, phases)
}

// seeded does as trial, with the arrivals of trial n.
func (s *session) seeded(ctx context.Context, n int, phases []plan.Phase) ([]*record.Step, error) {
	serving := s.profile
	if s.serving != nil {
		serving = s.serving
	}
	spec, err := serving.Workload()
	if err != nil {
		return nil, fail(verdict.CodeUsage, "%w", err)
	}
	spec.Phases = phases
	spec.Seed = trialSeed(s.profile.Seed, n)
	p, err := plan.New(spec)
	if err != nil {
		return nil, fail(verdict.CodeUsage, "%w", err)
	}
	return s.offer(ctx, p)
}

// offer carries out p as the next trial and returns its steps.
func (s *session) offer(ctx context.Context, p *plan.Plan) ([]*record.Step, error) {
	first := len(s.series.Steps())
	ctx, over := s.watched(ctx)
	err := s.driver.Run(ctx, s.trials, p)
	err = errors.Join(err, over())
	s.trials++
	return s.series.Steps()[first:], err
}

// reset puts a built-in server back to its start; one that is not ours stays as
// it is.
func (s *session) reset(ctx context.Context) error {
	if !s.resettable() {
		return nil
	}
	if err := s.driver.Reset(ctx); err != nil {
		return fail(verdict.CodeNotStarted, "%w", err)
	}
	return nil
}

// resettable says whether the server is ours.
func (s *session) resettable() bool { return !s.o.remote() }

// capacity is the declared capacity; 0 when it is not known.
func (s *session) capacity() float64 {
	if c, err := s.o.capacityRPS(); err == nil && c > 0 {
		return c
	}
	return s.profile.Capacity()
}

// longest returns the longest timeout or deadline of the classes.
func (s *session) longest() time.Duration { return longestTimeout(s.profile) }

// shortestTimeout returns the shortest timeout of the classes.
func shortestTimeout(p *profiles.Profile) time.Duration {
	shortest := p.Classes()[0].Timeout
	for _, c := range p.Classes() {
		shortest = min(shortest, c.Timeout)
	}
	return shortest
}

func longestTimeout(p *profiles.Profile) time.Duration {
	var longest time.Duration
	for _, c := range p.Classes() {
		longest = max(longest, c.Timeout, c.Deadline)
	}
	return longest
}

// describe fills in what is known of the run before it begins.
func (s *session) describe() {
	clock, started := analysis.Wall, (*string)(nil)
	if s.o.virtual {
		clock = analysis.Virtual
	} else {
		at := s.w.now().UTC().Format(time.RFC3339)
		started = &at
	}
	sum := s.profile.SHA256()
	var document any
	if err := yaml.Unmarshal(s.profile.YAML(), &document); err != nil {
		panic(fmt.Sprintf("cli: a resolved profile cannot be read: %v", err))
	}
	s.meta = analysis.Meta{
		Run: analysis.Run{
			Command:       s.verb,
			StartedAt:     started,
			Clock:         clock,
			Seed:          s.profile.Seed,
			Version:       version(),
			ProfileSHA256: sum,
			Repeat:        repeat(s.w.args, s.profile.Seed, s.o.seedSet),
		},
		Machine:     thisMachine(),
		Profile:     document,
		CapacityRPS: s.capacity(),
		Timeout:     s.longest(),
		Patience:    shortestTimeout(s.profile),
	}
	s.meta.CPUs = usable(s.meta.Machine)
	s.meta.Run.ID = runID(sum, s.profile.Seed, started)
}

// runID follows from the profile and the seed, and on the wall clock from the
// start as well.
func runID(profile string, seed uint64, started *string) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%s\x00%d", profile, seed)
	if started != nil {
		fmt.Fprintf(h, "\x00%s", *started)
	}
	return fmt.Sprintf("%016x", h.Sum64())
}

// trialSeed derives the seed of a trial from that of the run.
func trialSeed(seed uint64, trial int) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "trial\x00%d\x00%d", seed, trial)
	return h.Sum64()
}

// metaEvent is the kind of the event that keeps what is known of a run beside
// its records.
const metaEvent = "run"

// saveMeta keeps meta in the folder, so that a killed run can be reported on.
func (s *session) saveMeta() {
	text, err := json.Marshal(s.meta)
	if err != nil {
		panic(fmt.Sprintf("cli: encoding what is known of a run: %v", err))
	}
	s.folder.Event(record.Event{Kind: metaEvent, Text: string(text)})
}

// finish compares the counts, analyses the records, judges the checks, and
// closes the session.
func (s *session) finish() (*analysis.Result, error) {
	s.reconcile()
	if s.fleet != nil {
		counted := s.fleet.Report()
		s.meta.Topology = &counted
	}
	if s.o.virtual {
		s.meta.Run.DurationS = s.driver.Now().Seconds()
	} else {
		s.meta.Run.DurationS = s.w.now().Sub(s.began).Seconds()
	}
	if s.live != nil {
		stats := s.live.Stats()
		if warning := streamLimit(stats.Streams); warning != "" {
			s.meta.Warnings = append(s.meta.Warnings, warning)
		}
		if stats.CPU > 0 && stats.Wall > 0 {
			share := stats.CPU.Seconds() / stats.Wall.Seconds()
			s.meta.CPUShare = &share
		}
	}
	if s.folder != nil {
		s.saveMeta()
	}
	err := s.close()
	r := analysis.Analyze(s.series, s.known())
	r.Checks = verdict.Judge(s.profile.Checks, r)
	r.Verdict = verdict.Overall(r, s.asked)
	s.o.gate.beside(r)
	if s.folder != nil {
		var text bytes.Buffer
		err = errors.Join(err, report.JSON(&text, r), s.folder.WriteResult(json.RawMessage(text.Bytes())))
	}
	if err != nil {
		return r, fail(verdict.CodeInternal, "%w", err)
	}
	return r, nil
}

// close ends whatever open started. It may be called twice.
func (s *session) close() error {
	var errs []error
	if s.driver != nil {
		errs = append(errs, s.driver.Close())
		s.driver = nil
	}
	if s.child != nil {
		errs = append(errs, s.child.Close())
		s.child = nil
	}
	if s.placed.release != nil {
		s.placed.release()
		s.placed = placement{}
	}
	if s.folder != nil {
		errs = append(errs, s.folder.Close())
	}
	return errors.Join(errs...)
}

func classNames(p *profiles.Profile) []string {
	var names []string
	for _, c := range p.Classes() {
		names = append(names, c.Name)
	}
	return names
}
