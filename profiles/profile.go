// Package profiles reads what a run is to do from YAML: the target, the
// clients, the load and the checks.
//
// Reading is strict: every fault of a file is reported at once, each with its
// place and with what is allowed. A Profile that Load returned is complete
// (defaults are filled in), valid, and can be built.
package profiles

import (
	"fmt"
	"strconv"
	"time"

	"knee/ci/verdict"
	"knee/generator/plan"
	"knee/target/work"
)

// A Profile is what a run does. Load fills in all defaults.
type Profile struct {
	Name       string          `yaml:"name" doc:"name of the profile; default: the file's"`
	Doc        string          `yaml:"doc,omitempty" doc:"one line, shown by knee list profiles"`
	Hypothesis string          `yaml:"hypothesis,omitempty" doc:"what is expected to happen"`
	Seed       uint64          `yaml:"seed" doc:"of everything random; default 1"`
	Allow      []string        `yaml:"allow,omitempty" doc:"hosts beside loopback that may be driven, together with --allow"`
	Target     *Target         `yaml:"target,omitempty" doc:"the built-in server; left out when --url is given"`
	Topology   *Topology       `yaml:"topology,omitempty" doc:"several such servers behind a balancer, and layers of others behind them; needs --virtual"`
	Client     Client          `yaml:"client" doc:"who calls, and how patiently"`
	Load       Workload        `yaml:"load" doc:"how much is asked for, and when"`
	Faults     []Injection     `yaml:"faults,omitempty" doc:"what goes wrong with the built-in server, and when"`
	Guards     []verdict.Guard `yaml:"guards,omitempty" doc:"when the run is stopped: abort when METRIC OP VALUE for DURATION"`
	Checks     []verdict.Check `yaml:"checks,omitempty" doc:"what must hold: METRIC[{class=NAME}] OP VALUE [at LOAD] [in PHASE]"`
}

func (p *Profile) setDefaults() {
	p.Seed = 1
	p.Client.setDefaults()
	p.Load.setDefaults()
}

// A Target is the built-in server.
type Target struct {
	Workers     int          `yaml:"workers" doc:"requests served at once, 1 to 100000; default 10"`
	Service     Service      `yaml:"service" doc:"how long a worker takes for a request; default exponential, mean 10ms"`
	Order       Order        `yaml:"order" doc:"which waiting request is served next; default fifo"`
	Protections []Protection `yaml:"protections,omitempty" doc:"asked in order; the first that refuses names the reason"`
	ShedAt      string       `yaml:"shed_at" doc:"where refusals are made: accept, headers, handler or late; default handler"`
	RejectCost  float64      `yaml:"reject_cost" doc:"share of a request's work that one rejection takes, 0 to 1; default 0"`
	Degraded    float64      `yaml:"degraded" doc:"share of its work that a degraded answer takes, above 0, up to 1; default 0.2"`
	Batch       *Batch       `yaml:"batch,omitempty" doc:"workers take several requests at once; default: one at a time"`
}

// Batch is how workers take several requests at once. A batch takes the
// overhead and then the work of each of its requests, and all are answered at
// its end.
type Batch struct {
	Size     int      `yaml:"size" doc:"requests in a batch at most, 2 to 100000; there is no default"`
	Delay    Duration `yaml:"delay" doc:"how long the oldest waits for the batch to fill; default 0: a free worker takes what is there"`
	Overhead Duration `yaml:"overhead" doc:"work that each batch costs beside that of its requests; default 0"`
}

// MaxWorkers bounds Target.Workers.
const MaxWorkers = 100_000

// perAttempt and perRequest are the values of Service.Per.
const (
	perAttempt = "attempt"
	perRequest = "request"
)

var servicePer = []string{perAttempt, perRequest}

// shedStages are the values of Target.ShedAt.
var shedStages = []string{"accept", "headers", "handler", "late"}

func (t *Target) setDefaults() {
	*t = Target{Workers: 10, ShedAt: "handler", Degraded: 0.2}
	t.Service.setDefaults()
	t.Order.setDefaults()
}

// Service is how long a worker takes for a request.
type Service struct {
	work.Spec `yaml:",inline"`
	Per       string `yaml:"per" doc:"what is slow: attempt (the server, by chance: a retry or a hedge draws its time anew) or request (every attempt of it takes the same time); default attempt"`
	CPU       bool   `yaml:"cpu,omitempty" doc:"burn the time on a CPU instead of sleeping"`
}

func (s *Service) setDefaults() {
	*s = Service{}
	s.Kind, s.Mean, s.Per = "exponential", defaultMean, perAttempt
}

// A Client says who calls, and how patiently.
type Client struct {
	Timeout     Duration    `yaml:"timeout" doc:"of an attempt; default 100ms"`
	Deadline    Duration    `yaml:"deadline" doc:"of an original, at least the timeout; default: the timeout, or all that the behaviours can take"`
	Grace       Duration    `yaml:"grace" doc:"how long after the timeout to go on listening; default: twice the timeout"`
	OnTimeout   string      `yaml:"on_timeout" doc:"listen: go on for the grace; close: hang up; default listen"`
	MaxInFlight MaxInFlight `yaml:"max_in_flight" doc:"attempts open at once; what exceeds it is unsent; auto: no bound of its own; default auto"`
	Clients     int         `yaml:"clients" doc:"size of the population; behaviours keep their state per client; default 50"`
	Behaviours  []Behaviour `yaml:"behaviours,omitempty" doc:"what clients do with their attempts, in order"`
	Classes     []Class     `yaml:"classes,omitempty" doc:"kinds of request; default: one class named default"`
}

// maxClients bounds Client.Clients: each has state of its own.
const maxClients = 1_000_000

// timeoutActions are the values of Client.OnTimeout.
var timeoutActions = []string{"listen", "close"}

func (c *Client) setDefaults() {
	*c = Client{Timeout: Duration(defaultTimeout), OnTimeout: "listen", Clients: 50}
}

// MaxInFlight bounds the attempts that are open at once; 0 is auto.
type MaxInFlight int

// UnmarshalText reads auto or a number of at least 1.
func (m *MaxInFlight) UnmarshalText(text []byte) error {
	s := string(text)
	if s == "auto" {
		*m = 0
		return nil
	}
	n, err := strconv.ParseInt(s, 10, 32)
	if err != nil || n < 1 {
		return &valueError{is: quote(s), want: "auto, or a number of at least 1"}
	}
	*m = MaxInFlight(n)
	return nil
}

// MarshalText writes what UnmarshalText reads.
func (m MaxInFlight) MarshalText() ([]byte, error) {
	if m == 0 {
		return []byte("auto"), nil
	}
	return strconv.AppendInt(nil, int64(m), 10), nil
}

// A Class is one kind of request within the load.
type Class struct {
	Name        string        `yaml:"name" doc:"unique among the classes; letters, digits, _, - and ."`
	Weight      float64       `yaml:"weight" doc:"share of the arrivals, relative to the other classes, at least 0; default 1"`
	Phases      []Phase       `yaml:"phases,omitempty" doc:"load of this class alone, from the start on, no longer than load.phases; default: a share of those, by weight"`
	Criticality string        `yaml:"criticality" doc:"sheddable, sheddable_plus, critical or critical_plus; default critical"`
	Tenant      string        `yaml:"tenant,omitempty" doc:"whose quota it uses"`
	Cost        float64       `yaml:"cost" doc:"relative cost, above 0; default 1"`
	Bytes       int64         `yaml:"bytes,omitempty" doc:"size of the body of a request, 0 to 1073741824; default 0"`
	Protected   bool          `yaml:"protected,omitempty" doc:"a health check, or the end of work already begun: not shed for load; default false"`
	Timeout     Duration      `yaml:"timeout,omitempty" doc:"of an attempt of this class; default: the client's"`
	Deadline    Duration      `yaml:"deadline,omitempty" doc:"of an original of this class, at least its timeout; default: as much longer than its timeout as the client's are, or all that the behaviours can take"`
	Service     *ClassService `yaml:"service,omitempty" doc:"how long a worker takes for a request of this class; what is left out is as in target.service"`
}

// ClassService is how long a worker takes for a request of one class.
type ClassService struct {
	work.Spec `yaml:",inline"`
}

// maxBytes bounds Class.Bytes.
const maxBytes = 1 << 30

// criticalities are the values of Class.Criticality, in the order in which
// they are shed.
var criticalities = []string{"sheddable", "sheddable_plus", "critical", "critical_plus"}

func (c *Class) setDefaults() {
	*c = Class{Weight: 1, Criticality: "critical", Cost: 1}
}

// A Workload says how much is asked for, and when.
type Workload struct {
	Arrivals string   `yaml:"arrivals" doc:"constant (equal gaps), poisson (independent users), bursty (see burst) or replay (see replay); default poisson"`
	Burst    *Burst   `yaml:"burst,omitempty" doc:"how bursty arrivals come"`
	Replay   *Replay  `yaml:"replay,omitempty" doc:"when the arrivals of a replay come"`
	Tick     Duration `yaml:"tick,omitempty" doc:"how far apart the instants are at which a live run wakes to send what is due, 0s to 100ms: the coarser, the less CPU a request takes and the more it lags; default 0s: at each request's own"`
	Phases   []Phase  `yaml:"phases,omitempty" doc:"stretches of the load, one after the other; those of a replay have no rate, and it may do without"`
}

// arrivals are the values of Load.Arrivals.
var arrivals = []string{constant, poisson, bursty, replay}

// Kinds of arrivals.
var (
	constant = plan.Constant.String()
	poisson  = plan.Poisson.String()
	bursty   = plan.Bursty.String()
	replay   = plan.Replayed.String()
)

func (w *Workload) setDefaults() { w.Arrivals = poisson }

// A Burst switches the rate of Poisson arrivals between on and off. The mean
// over both is the rate of the phase; while on it is 1 + off/on·(1-idle) times
// that.
type Burst struct {
	On      Duration `yaml:"on" doc:"mean length of a burst, 1ms to 720h; default 200ms"`
	Off     Duration `yaml:"off" doc:"mean length of the time between two bursts, 1ms to 720h; default 800ms"`
	Idle    float64  `yaml:"idle" doc:"rate between bursts as a share of the phase's, 0 to below 1; default 0"`
	Lengths string   `yaml:"lengths" doc:"exponential, or fixed: all bursts are as long, and all times between; default exponential"`
}

// burstLengths are the values of Burst.Lengths.
var burstLengths = []string{"exponential", "fixed"}

func (b *Burst) setDefaults() {
	*b = Burst{On: Duration(200 * time.Millisecond), Off: Duration(800 * time.Millisecond), Lengths: "exponential"}
}

// Kinds of a phase.
const (
	hold  = string(plan.Hold)
	ramp  = string(plan.Ramp)
	sweep = string(plan.Sweep)
	spike = string(plan.Spike)
)

var phaseKinds = []string{hold, ramp, sweep, spike}

// A Phase is one stretch of the load. Which fields it has depends on its kind.
type Phase struct {
	Kind   string   `yaml:"kind" doc:"hold, ramp, sweep or spike"`
	Name   string   `yaml:"name,omitempty" doc:"what checks call it, in PHASE; phases may share one"`
	Rate   *Rate    `yaml:"rate,omitempty" doc:"of a hold or a spike"`
	From   *Rate    `yaml:"from,omitempty" doc:"of a ramp or a sweep; default of a ramp: the rate before, 0 at the start"`
	To     *Rate    `yaml:"to,omitempty" doc:"of a ramp or a sweep, which ends exactly there"`
	For    Duration `yaml:"for,omitempty" doc:"how long a hold, ramp or spike lasts"`
	Ratio  float64  `yaml:"ratio,omitempty" doc:"of a sweep: from one load to the next; default 1.5"`
	Hold   Duration `yaml:"hold,omitempty" doc:"of a sweep: how long each load lasts"`
	Passes int      `yaml:"passes,omitempty" doc:"of a sweep: how many times, each shuffled; default 1"`
}

// classNameForm is what may name a class: names are keys of JSON, parts of
// checks and values of headers.
const classNameForm = `^[A-Za-z0-9_][A-Za-z0-9_.-]*$`

// index returns a path such as load.phases.1.
func index(path string, i int) string { return fmt.Sprintf("%s.%d", path, i) }
