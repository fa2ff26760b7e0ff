package analysis

import (
	"cmp"
	"slices"
	"time"

	"knee/analysis/metastable"
	"knee/analysis/recovery"
	"knee/generator/record"
)

// A trigger is a spike or a fault, and what followed it.
type trigger struct {
	fault   bool
	name    string        // of its steps
	base    float64       // load before and after it
	peak    float64       // load during a spike
	lasted  time.Duration // how long it was
	episode metastable.Episode
}

// triggersOf returns the spikes and faults of a run, as they came. capacity is the
// load that the server can carry, 0 when it is not known. why says why one says
// nothing.
func triggersOf(recorded []*record.Step, series *record.Series, m Meta, capacity float64) (all []trigger, why string) {
	for i, s := range recorded {
		if s.Info.Phase != Spike || slices.Contains(m.SetAside, s.Info.Trial) || m.isPaired(s.Info.Trial) {
			continue
		}
		a := around(recorded, i)
		if a.before == nil || len(a.after) == 0 {
			why = "a spike needs the same load before and after it"
			continue
		}
		all = append(all, a.trigger(s, series, m, capacity))
	}
	faults, because := afterFaults(recorded, series, m, capacity)
	return append(all, faults...), cmp.Or(because, why)
}

// Episode returns what came of the one spike of a trial, of which recorded are the
// steps; false when there is none. capacity is the load that the server can carry, 0
// when it is not known. until is the instant from which on requests may still be
// open, 0 when none are. A trend must then be surer than one of which all is known:
// whoever waits for it looks many times, and it is not to be gone at the end.
func Episode(recorded []*record.Step, series *record.Series, m Meta, capacity float64, until time.Duration) (metastable.Episode, bool) {
	i := slices.IndexFunc(recorded, func(s *record.Step) bool { return s.Info.Phase == Spike })
	if i < 0 {
		return metastable.Episode{}, false
	}
	a := around(recorded, i)
	if a.before == nil || len(a.after) == 0 {
		return metastable.Episode{}, false
	}
	a.until = until
	return a.trigger(recorded[i], series, m, capacity).episode, true
}

// surroundings are the steps around a trigger, all of one trial and, but for idle,
// of one constant load.
type surroundings struct {
	before *record.Step
	after  []*record.Step
	idle   *record.Step   // without load; nil: there was none
	again  []*record.Step // after idle
	until  time.Duration  // windows that end later are not looked at; 0: all are
}

// around returns what surrounds spike i. A settling step in between does not count.
func around(recorded []*record.Step, i int) surroundings {
	var a surroundings
	if i == 0 {
		return a
	}
	trial := recorded[i].Info.Trial
	before := recorded[i-1]
	if before.Info.Trial != trial || before.Info.From != before.Info.To {
		return a
	}
	a.before = before
	a.follow(recorded[i+1:])
	return a
}

// follow takes in the steps that follow with the load of before.
func (a *surroundings) follow(steps []*record.Step) {
	base := a.before.Info
	for _, s := range steps {
		i := s.Info
		switch {
		case i.Trial != base.Trial:
			return
		case i.From == 0 && i.To == 0 && len(a.again) == 0:
			if a.idle == nil {
				a.idle = s
			}
		case i.From != base.To || i.To != base.To:
			return
		case a.idle != nil:
			a.again = append(a.again, s)
		default:
			a.after = append(a.after, s)
		}
	}
}

// trigger measures what followed a spike.
func (a surroundings) trigger(spike *record.Step, series *record.Series, m Meta, capacity float64) trigger {
	t := trigger{name: spike.Info.Name, base: a.before.Info.Rate(), peak: max(spike.Info.From, spike.Info.To), lasted: spike.Info.Duration}
	start := spike.Info.Start
	end := start + spike.Info.Duration
	baseline := a.windows(series, m, a.before)
	o := a.options(m, capacity)
	if sent := a.before.Total.Sent + a.before.Total.Withheld; sent > 0 {
		o.Baseline = float64(a.before.Total.Good) / float64(sent)
		o.BaselineP99 = a.before.Response.P99
	}
	backlog := (spike.Info.Rate() - capacity) * spike.Info.Duration.Seconds()
	o.Predicted = a.predict(backlog, capacity)
	t.episode.After = recovery.After(slices.Concat(baseline, a.windows(series, m, spike), a.windows(series, m, a.after...)), start, end, o)
	t.episode.Again = a.afterIdle(baseline, series, m, o)
	return t
}

// options are those of a recovery to the load of before.
func (a surroundings) options(m Meta, capacity float64) recovery.Options {
	o := recovery.Options{Deadline: m.Timeout, BaseRate: a.before.Info.Rate(), Capacity: capacity, Every: record.Window}
	if a.until > 0 {
		o.Confidence = 0.999
	}
	return o
}

// predict returns how long it takes to work off a backlog beside the load and its
// retries; 0 when that would take forever or is not known.
func (a surroundings) predict(backlog, capacity float64) time.Duration {
	var sent, attempts uint64
	for _, s := range a.after {
		sent, attempts = sent+s.Total.Sent, attempts+s.Total.Attempts
	}
	if sent == 0 || capacity <= 0 || backlog <= 0 {
		return 0
	}
	left := capacity - a.before.Info.Rate()*float64(attempts)/float64(sent)
	if left <= 0 {
		return 0
	}
	return time.Duration(min(backlog/left, 1e6) * float64(time.Second))
}

// afterIdle says whether the load was served once it had been away; nil when that
// was not tried.
func (a surroundings) afterIdle(baseline []recovery.Window, series *record.Series, m Meta, o recovery.Options) *recovery.Result {
	again := a.windows(series, m, a.again...)
	if a.idle == nil || len(again) == 0 {
		return nil
	}
	o.Trigger, o.Predicted = "pause", 0
	r := recovery.After(slices.Concat(baseline, again), a.idle.Info.Start, a.again[0].Info.Start, o)
	return &r
}

// windows are those of steps. A last one that a step does not fill is left out.
func (a surroundings) windows(series *record.Series, m Meta, steps ...*record.Step) []recovery.Window {
	var all []recovery.Window
	for _, s := range steps {
		n := int(m.lasted(s.Info) / record.Window)
		inFlight := series.InFlight(s.Info.Start, s.Info.Start+time.Duration(n)*record.Window)
		for k := range n {
			w := recovery.Window{At: s.Info.Start + time.Duration(k)*record.Window}
			if a.until > 0 && w.At+record.Window > a.until {
				return all
			}
			if k < len(s.ByPlanned) {
				p := s.ByPlanned[k]
				w.Sent, w.Good, w.Lost = p.Sent+p.Withheld, p.Good, p.Timeout
				w.Refused = p.Rejected + p.Failed + p.Withheld
			}
			if second := k * int(record.Window) / int(record.HistWindow); second < len(s.Seconds) {
				w.P99 = s.Seconds[second].P99
			}
			if k < len(inFlight) {
				w.InFlight = float64(inFlight[k])
			}
			w.Backlog = m.backlogAt(w.At + record.Window)
			all = append(all, w)
		}
	}
	return all
}

// backlogAt returns how many requests the server held at an instant, by its last
// word by then; 0 when it has not told.
func (m Meta) backlogAt(at time.Duration) float64 {
	i, exact := slices.BinarySearchFunc(m.Gauges, at, func(g record.Gauge, at time.Duration) int { return cmp.Compare(g.At, at) })
	if !exact {
		i--
	}
	if i < 0 || m.Gauges[i].At <= at-stale {
		return 0
	}
	return float64(m.Gauges[i].Inside())
}

// stale is the age at which the server's word of its backlog is worth nothing.
const stale = 5 * record.Window
