package analysis

import (
	"fmt"
	"math"
	"slices"
	"time"

	"knee/analysis/knee"
	"knee/analysis/plateau"
	"knee/generator/record"
)

// The clocks of Run.Clock.
const (
	Wall    = "wall"
	Virtual = "virtual"
)

// Meta is what is known of a run beside its records. It is kept in the run's
// folder, so that the same result can be made again from there.
type Meta struct {
	Run         Run           `json:"run"`
	Machine     Machine       `json:"machine"`
	Profile     any           `json:"profile"`
	CapacityRPS float64       `json:"capacity_rps"` // declared; 0 when it is not known
	Timeout     time.Duration `json:"timeout_ns"`   // the longest of the classes
	Patience    time.Duration `json:"patience_ns"`  // the shortest timeout of an attempt of the classes, by which lag is judged; 0: Timeout
	Bracket     [2]float64    `json:"bracket"`      // a good load and a bad one that were certified; 0: neither was
	Eps         float64       `json:"eps"`          // share of the baseline that a good load may lose; 0: 0.05
	Width       float64       `json:"width"`        // relative width of a bracket that is not coarse; 0: 0.05
	CPUShare    *float64      `json:"cpu_share"`    // of one CPU, used by the generator; nil when unknown
	CPUs        float64       `json:"cpus"`         // how many CPUs' time the generator may use; 0: unknown
	Stopped     bool          `json:"stopped"`      // before its end: the last step is cut short
	CutOff      bool          `json:"cut_off"`      // the search ended before the range asked for did
	Ended       string        `json:"ended"`        // why the search ended
	SetAside    []int         `json:"set_aside"`    // trials that later ones took the place of, or that were a warm-up
	Faults      []Fault       `json:"faults"`       // that were put into the server
	Warnings    []string      `json:"warnings"`
	// Differences between the client's and the server's counts; Reconciled says
	// whether they were compared at all.
	Topology    *Topology `json:"topology,omitempty"` // what the servers counted; nil for one server
	Reconciled  bool      `json:"reconciled"`
	Differences []string  `json:"differences"`

	ServerUse  []ServerUse      `json:"server_use,omitempty"`  // of a run that prices rejections
	Prices     []PriceTrial     `json:"prices,omitempty"`      // trials that show whether the price is right
	Stage      string           `json:"stage,omitempty"`       // of ServerUse, that the profile asks for
	Hot        map[string][]Hot `json:"hot,omitempty"`         // where rejections spend CPU, by stage
	SharedCPUs bool             `json:"shared_cpus,omitempty"` // of generator and server

	Pair    *Pair         `json:"pair,omitempty"`    // of a run that compares two builds
	Aborted *Aborted      `json:"aborted,omitempty"` // by a guard; nil: it was not
	Closed  []ClosedTrial `json:"closed,omitempty"`  // of a run in a closed loop

	// Readings are what the generator took of its machine, in order. The folder of
	// a run keeps them one by one.
	Readings []record.Reading `json:"-"`
	// Gauges are what the built-in server said of itself, in order; nil when it was not
	// asked. The folder keeps them one by one, too.
	Gauges []record.Gauge `json:"-"`

	end time.Duration // of the last window with an arrival, when the run was stopped
}

// lastArrival returns the end of the last window in which a request was due.
func lastArrival(series *record.Series) time.Duration {
	windows := series.ByEnding()
	for i, w := range slices.Backward(windows) {
		if w.Planned > 0 {
			return time.Duration(i+1) * record.Window
		}
	}
	return 0
}

// Analyze makes the result of a run from its records. Checks are judged
// elsewhere: they are left empty, and Verdict with them.
func Analyze(series *record.Series, m Meta) *Result {
	r := &Result{
		Schema:   Schema,
		Run:      m.Run,
		Machine:  m.Machine,
		Profile:  m.Profile,
		Capacity: Capacity{Source: "measured"},
		Steps:    []Step{},
		Reconciliation: Reconciliation{
			Differences: append([]string{}, m.Differences...),
		},
		Topology: m.Topology,
		Checks:   []Check{},
		Warnings: append([]string{}, m.Warnings...),
	}
	if m.Reconciled {
		r.Reconciliation.Matched = some(len(m.Differences) == 0)
	}
	if m.Stopped {
		m.end = lastArrival(series)
	}
	recorded := series.Steps()
	for _, s := range recorded {
		r.Steps = append(r.Steps, StepOf(s, series, m))
		if err := s.Total.Conserved(); err != nil {
			r.Warnings = append(r.Warnings, fmt.Sprintf("step %d (%s): counts do not add up: %v", s.Info.Index, s.Info.Phase, err))
		}
	}
	measured := measured(recorded, r.Steps, m)
	points := make([]knee.Point, len(measured))
	for i, s := range measured {
		points[i] = Point(s)
	}
	k := knee.Find(points, m.kneeOptions())
	if m.CutOff && k.Verdict == knee.NoKnee {
		// That there is none was not found out: higher loads were to come.
		k.Verdict, k.Why = knee.Insufficient, k.Why+", and time ran out before a higher one was offered"
	}
	if k.Verdict == knee.Insufficient && barren(points) {
		k = knee.Result{Verdict: knee.NoGoodput, Why: "nothing succeeded at any load", MaxTested: k.MaxTested}
	}
	r.Knee = kneeOf(k, m)
	r.Knee.ByClass = kneesByClass(measured, m)
	r.Plateau = plateauOf(plateau.Judge(points, k, m.kneeOptions()))
	r.Rejection = rejectionOf(measured, k, m)
	if len(m.ServerUse) > 0 {
		r.Rejection = rejectionPriced(r.Rejection, recorded, r.Steps, m)
	}
	r.Capacity = capacity(r.Knee, m)
	if m.CapacityRPS == 0 && r.Capacity.RPS != nil {
		for i := range r.Steps {
			r.Steps[i].LoadX = some(r.Steps[i].IntendedRPS / *r.Capacity.RPS)
		}
	}
	triggers, why := triggersOf(recorded, series, m, r.Knee.rps(m))
	r.Recovery = recoveryOf(triggers, why)
	r.Metastability = metastabilityOf(triggers)
	r.Metastability.Loop = loopOf(recorded, m)
	r.Generator = generatorOf(r.Steps, m)
	r.Aborted = m.Aborted
	r.Gate = gateOf(series, m)
	r.Closed = closedOf(recorded, r.Steps, m)
	return r
}

const notTested = "not_tested"

// measured are the loads of the curve: steps of constant rate that are not part of a
// spike, and in which no fault came or went, nor the time after these.
func measured(recorded []*record.Step, steps []Step, m Meta) []Step {
	var all []Step
	faults := m.disturbances(recorded)
	spiked := map[int]bool{} // trials in which a spike has come
	for i, s := range recorded {
		switch s.Info.Phase {
		case Settle, Drain, Base, After, Hold, Idle, Again, Priced, ClosedLoop:
			continue
		case Spike:
			spiked[s.Info.Trial] = true
			continue
		}
		step := steps[i]
		if m.foreign(s.Info.Trial) || m.isPaired(s.Info.Trial) {
			continue
		}
		if s.Info.From != s.Info.To || spiked[s.Info.Trial] || step.SetAside || isCut(step) || disturbed(s, recorded, faults) {
			continue
		}
		all = append(all, step)
	}
	return all
}

// barren says whether enough was sent to know that the server serves nothing,
// though at too few loads for a curve.
func barren(points []knee.Point) bool {
	const enough = 20 // requests
	var sent uint64
	for _, p := range points {
		if p.Good > 0 {
			return false
		}
		if !p.Limited {
			sent += p.Sent
		}
	}
	return sent >= enough
}

// Point is a step as a point of the goodput curve.
//
// Goodput counts what was due in the step, and some of that is answered after
// its end. Where a queue filled up meanwhile, a load looks better than the
// server can go on serving it, by as many requests as the queue took in: the
// bias of timeout/duration by which a trial overstates the knee of a server that
// queues. So where fewer good answers came during the step, by more than chance,
// they are what counts.
func Point(s Step) knee.Point {
	p := knee.Point{
		Offered:  s.OfferedRPS,
		Goodput:  s.GoodputRPS,
		Intended: s.IntendedRPS,
		Sent:     s.Counts.Sent + s.Counts.Withheld,
		Good:     s.Counts.Good,
		Growing:  s.Growing,
		Limited:  !s.Valid,
	}
	if s.ResponseMS.P99 != nil {
		p.P99 = time.Duration(*s.ResponseMS.P99 * float64(time.Millisecond))
	}
	owed := float64(s.Counts.Good) - float64(s.GoodDuring)
	if byChance := chance * math.Sqrt(float64(s.InFlightStart+s.InFlightEnd)); owed > byChance {
		p.Good = s.GoodDuring
		p.Goodput = float64(s.GoodDuring) / s.DurationS
	}
	return p
}

// chance is how many standard deviations of what is in flight at both ends of a
// step may come by chance.
const chance = 2

// capacity is the load that x is a multiple of: the declared one, else the
// knee.
func capacity(k Knee, m Meta) Capacity {
	if m.CapacityRPS > 0 {
		return Capacity{RPS: some(m.CapacityRPS), Source: "declared"}
	}
	return Capacity{RPS: k.RPS, Source: "measured"}
}
