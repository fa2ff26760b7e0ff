// Package recovery says how long after a spike or a fault goodput was back.
//
// It is a settling time with hysteresis: goodput has recovered at the first
// window that is healthy and that no bad window follows for a sustained while.
// A window is healthy when it keeps 0.95 of the baseline ratio and its p99 is
// ordinary again, and bad when it keeps less than 0.90; between the two it
// neither starts a recovery nor ends one.
package recovery

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// The verdicts of a Result.
const (
	Recovered    = "recovered"
	Slow         = "slow"          // not back by the horizon, but on its way: see Projection
	NotRecovered = "not_recovered" // not back by the horizon, and not on its way
	Inconclusive = "inconclusive"
)

// The hysteresis, as shares of the baseline.
const (
	healthyShare = 0.95
	badShare     = 0.90
)

// Window is what became of the load that was planned in one window.
type Window struct {
	At       time.Duration // start, on the clock of the run
	Sent     uint64        // originals sent or withheld
	Good     uint64
	P99      time.Duration // of good, from planned; 0: unknown. It may be that of a longer window around
	Late     time.Duration // median time to a late answer; 0: there was none
	Lost     uint64        // of Sent, those that were not answered at all
	Refused  uint64        // of Sent, those that were turned away: rejected, failed or withheld
	InFlight float64       // at the end of the window; 0 in all windows: unknown
	Backlog  float64       // requests in the server, by its own word, at the end of the window; 0 in all windows: unknown
}

// Options describe the state before the spike and what to expect after it.
type Options struct {
	Baseline    float64       // good/sent before the spike; 0: taken from the windows before it
	BaselineP99 time.Duration // p99 before the spike; 0: unknown, and p99 is not judged
	Deadline    time.Duration // of an original, > 0
	BaseRate    float64       // load before and after the spike, per second; 0: taken from the windows before it
	Capacity    float64       // load that the server can carry, per second; 0: taken to be BaseRate
	Predicted   time.Duration // how long a server should take that only works off its backlog; 0: unknown
	Confidence  float64       // in a trend; default 0.99
	Horizon     time.Duration // how long after the end of the spike to look; 0: to the last window
	Every       time.Duration // length of a Window; default 200 ms
	Trigger     string        // what Why calls what happened; default "spike"
}

// Result is a recovery time on two clocks, or why there is none.
type Result struct {
	Verdict    string
	FromEnd    time.Duration // since the end of the spike; valid when recovered, and a first guess when the run ended too soon
	FromStart  time.Duration // since its start
	Low, High  time.Duration // FromEnd, give or take the resolution
	Resolution time.Duration // length of the windows that were judged
	Projection time.Duration // when slow: FromEnd as the trend has it, however long
	Lost       float64       // requests of the base load, from the start of the spike on, that would have been good
	Spikes     int
	Why        string
}

// After looks at the windows of one spike, which are ascending and of equal
// length. It needs some from before the spike unless the options give the
// baseline.
//
// What is judged are windows of at least 200 requests of the base load each:
// one starts with every Window and takes in as many of those that follow as it
// needs. Sustained means 5 s, 20 of these or 3 deadlines, whichever is longest.
// When the windows end sooner it is enough that goodput held to the end, for 2 s
// or 3 deadlines at least and for half as long as it took to come back; Why says
// so.
func After(windows []Window, spikeStart, spikeEnd time.Duration, o Options) Result {
	if o.Every <= 0 {
		o.Every = defaultEvery
	}
	if !(o.Confidence > 0) {
		o.Confidence = 0.99
	}
	if o.Trigger == "" {
		o.Trigger = "spike"
	}
	before, during, after := split(windows, spikeStart, spikeEnd, o)
	r := Result{Verdict: Inconclusive, Spikes: 1}
	if why := o.fill(before); why != "" {
		r.Why = why
		return r
	}
	n := joined(o.BaseRate, o.Every)
	r.Resolution = time.Duration(n) * o.Every
	judged := slide(after, n)
	if len(judged) == 0 {
		r.Why = "there is no window after the " + o.Trigger
		return r
	}
	w, sustained := r.Resolution, sustained(n, o)
	// The last window that must not be bad ends with the sustained while.
	hold := int(math.Ceil(float64(sustained)/float64(o.Every))) - n
	back, held := o.settled(judged, max(1, hold))
	if back < 0 {
		r.Lost = o.lost(slices.Concat(during, after))
		o.trend(&r, after, judged, spikeEnd)
		return r
	}
	at := judged[back].At
	r.FromEnd, r.FromStart = at-spikeEnd, at-spikeStart
	r.Low, r.High = max(0, r.FromEnd-w), r.FromEnd+w
	r.Lost = o.lost(slices.Concat(during, until(after, at)))
	left := after[len(after)-1].At + o.Every - at
	switch {
	case held:
		r.Verdict = Recovered
		r.Why = fmt.Sprintf("goodput was back %.3g s after the end of the %s, and stayed", r.FromEnd.Seconds(), o.Trigger)
	case left >= max(2*time.Second, 3*o.Deadline, r.FromEnd/2):
		r.Verdict = Recovered
		r.Why = fmt.Sprintf("goodput was back %.3g s after the end of the %s, and stayed for the %.3g s that were left", r.FromEnd.Seconds(), o.Trigger, left.Seconds())
	default:
		r.Why = fmt.Sprintf("the run ended %.3g s after goodput was back, too soon to say that it stayed", left.Seconds())
	}
	return r
}

// joined is how many windows of length every are judged together: as many as
// it takes for 200 requests of the base load.
func joined(baseRate float64, every time.Duration) int {
	return max(1, int(math.Ceil(200/baseRate/every.Seconds()-1e-9)))
}

func sustained(joined int, o Options) time.Duration {
	return max(5*time.Second, 20*time.Duration(joined)*o.Every, 3*o.Deadline)
}

// Sustained returns how long goodput must hold after a spike to count as back,
// at a base load above 0: the least that a run has to go on for.
func Sustained(o Options) time.Duration {
	if o.Every <= 0 {
		o.Every = defaultEvery
	}
	return sustained(joined(o.BaseRate, o.Every), o)
}

// defaultEvery is Options.Every when it is not given.
const defaultEvery = 200 * time.Millisecond
