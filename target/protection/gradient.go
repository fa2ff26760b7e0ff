package protection

import (
	"errors"
	"math"
	"math/rand/v2"
	"time"

	"knee/target/plugin"
)

func init() {
	Registry.Register(plugin.Info[New]{
		Name:  "gradient",
		Doc:   "limits the requests inside by how much longer they take than when few are let in, which it tries from time to time (Envoy's adaptive concurrency)",
		Worse: "when every request counts: at the start and each minute it lets in three at a time until it has measured fifty, and refuses the rest; and with service times that vary, the limit swings with the sample",
		Knobs: func() any {
			return &gradientKnobs{
				UpdateInterval: 100 * time.Millisecond, Percentile: 0.5,
				Interval: time.Minute, Jitter: 0.15, RequestCount: 50, Buffer: 0.25,
				MinConcurrency: 3, MinLimit: 3, MaxLimit: 1000, PartitionKnobs: unshared,
			}
		},
		New: newGradient,
	})
}

type gradientKnobs struct {
	UpdateInterval time.Duration `yaml:"update_interval" doc:"time between two limits, over which samples are taken; at least 1ms (Envoy has no default)"`
	Percentile     float64       `yaml:"percentile" doc:"quantile of the samples to go by; above 0, up to 1 (Envoy's default, too, is the median)"`
	Interval       time.Duration `yaml:"interval" doc:"time between two measurements of the time without load, at least 1ms"`
	Jitter         float64       `yaml:"jitter" doc:"share of interval that is added to it at random at most, from 0 to 1, so that servers do not measure all at once"`
	RequestCount   int           `yaml:"request_count" doc:"samples of a measurement, at least 1"`
	Buffer         float64       `yaml:"buffer" doc:"share of the time without load by which a request may take longer before the limit falls, from 0 to 10"`
	MinConcurrency int           `yaml:"min_concurrency" doc:"limit during a measurement, from 1 to max_limit"`
	MinLimit       int           `yaml:"min_limit" doc:"lowest limit at other times, and the first, from 1 to max_limit; in Envoy it is min_concurrency unless set apart; the number of workers spares a server the climb from 3 after each start"`
	MaxLimit       int           `yaml:"max_limit" doc:"highest limit, from 1 to 1000000"`
	FixedMinRTT    time.Duration `yaml:"fixed_min_rtt" doc:"time without load, so that nothing is measured; above 0; 0 means measured"`
	PartitionKnobs `yaml:",inline"`
}

// ReasonGradient is why gradient refuses.
const ReasonGradient Reason = "gradient"

// gradient is the gradient controller of Envoy's adaptive concurrency filter:
//
//	gradient = minRTT · (1 + buffer) / sampleRTT, from 0.5 to 2
//	new      = gradient · limit + sqrt(gradient · limit)
//
// rounded down, from min_limit to max_limit. The headroom is the square root of
// the limit after the gradient, not of the one before as Envoy's documents can be
// read. What was rounded down is what the next limit comes from.
//
// minRTT is measured with the limit pinned to min_concurrency until request_count
// samples are in; then the limit is what it was before. When five limits in a row
// were the lowest and the one before was too, it is measured at once: minRTT may
// be wrong. A request that arrived before the measurement began is no sample, nor
// is one that was dropped or failed; at the instant at which it began, it is one.
// The first measurement begins with the server. Partitions are not Envoy's.
//
// In Envoy the pin and the lowest limit were one (envoyproxy/envoy#46532), so that
// a server with many workers would fall to three requests whenever they slowed
// down. Here they are two, at Envoy's value both unless set.
//
// The pin also keeps an overload from being taken for the usual: what is measured
// has at most min_concurrency-1 others beside it, so it does not wait, unless
// there are fewer workers than that.
type gradient struct {
	*gate
	knobs gradientKnobs
	rand  *rand.Rand

	limit     int
	minRTT    time.Duration
	measuring bool
	deferred  int           // limit after the measurement
	epoch     time.Duration // when the last measurement began
	measureAt time.Duration // when the next one does; means nothing while measuring
	updateAt  time.Duration
	lowest    int // limits in a row that were the lowest
	begun     bool
	last      time.Duration
	samples   rttWindow
}

// lowestLimits are the limits in a row at which minRTT is measured again.
const lowestLimits = 5

func newGradient(s Setup, knobs any) (Protection, error) {
	k := knobs.(*gradientKnobs)
	gate, err := k.build(s)
	errs := []error{err}
	bad := func(knob string, is any, want string) { errs = append(errs, plugin.Knob(knob, is, want)) }
	if k.UpdateInterval < time.Millisecond {
		bad("update_interval", k.UpdateInterval, "a duration of at least 1ms")
	}
	if !(k.Percentile > 0 && k.Percentile <= 1) { // not a number fails too
		bad("percentile", k.Percentile, "a quantile above 0, up to 1")
	}
	if k.Interval < time.Millisecond {
		bad("interval", k.Interval, "a duration of at least 1ms")
	}
	if !(k.Jitter >= 0 && k.Jitter <= 1) {
		bad("jitter", k.Jitter, "a share from 0 to 1")
	}
	if k.RequestCount < 1 {
		bad("request_count", k.RequestCount, "a number of requests, at least 1")
	}
	if !(k.Buffer >= 0 && k.Buffer <= 10) {
		bad("buffer", k.Buffer, "a share from 0 to 10")
	}
	most := k.MaxLimit
	if most < 1 || most > 1_000_000 {
		bad("max_limit", k.MaxLimit, "a number of requests from 1 to 1000000")
		most = math.MaxInt
	}
	if k.MinConcurrency < 1 || k.MinConcurrency > most {
		bad("min_concurrency", k.MinConcurrency, "a number of requests from 1 to max_limit")
	}
	if k.MinLimit < 1 || k.MinLimit > most {
		bad("min_limit", k.MinLimit, "a number of requests from 1 to max_limit")
	}
	if k.FixedMinRTT < 0 {
		bad("fixed_min_rtt", k.FixedMinRTT, "a duration above 0, or 0 for as measured")
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return &gradient{gate: gate, knobs: *k, rand: s.Rand, limit: k.MinLimit, minRTT: k.FixedMinRTT, measureAt: Never}, nil
}

func (g *gradient) Admit(_ time.Duration, r *Request, l Load) Reason {
	if !g.admit(r, l.Admitted, g.limit) {
		return ReasonGradient
	}
	return ""
}

func (g *gradient) Leave(now time.Duration, r *Request, e End) {
	g.leave(r)
	g.last = max(g.last, now)
	if e.Outcome != Served || r.Arrived < g.epoch {
		return
	}
	g.samples.add(e.Waited + e.Served)
	if g.measuring && g.samples.n >= uint64(g.knobs.RequestCount) {
		g.minRTT = g.samples.take(g.knobs.Percentile)
		g.limit, g.measuring = g.deferred, false
		g.measureAt = g.last + jittered(g.knobs.Interval, g.knobs.Jitter, g.rand.Uint64())
		g.updateAt = g.last + g.knobs.UpdateInterval
	}
}

// Tick implements Ticker.
func (g *gradient) Tick(now time.Duration, _ Load) time.Duration {
	g.last = max(g.last, now)
	switch {
	case !g.begun:
		g.begun, g.updateAt = true, g.last+g.knobs.UpdateInterval
		if g.knobs.FixedMinRTT == 0 {
			g.measure()
		}
	case !g.measuring && g.last >= g.measureAt:
		g.measure()
	case !g.measuring && g.last >= g.updateAt:
		g.update()
		g.updateAt = g.last + g.knobs.UpdateInterval
	}
	if g.measuring { // its end comes with a request, not with a tick
		return g.last + g.knobs.UpdateInterval
	}
	return min(g.updateAt, g.measureAt)
}

// measure begins to measure minRTT.
func (g *gradient) measure() {
	g.measuring, g.epoch, g.lowest = true, g.last, 0
	g.deferred, g.limit = g.limit, g.knobs.MinConcurrency
	g.samples.reset()
}

// update sets the limit by the samples since the last one. Without any it stays.
func (g *gradient) update() {
	if g.samples.n == 0 {
		return
	}
	was := g.limit
	g.limit = g.next(g.samples.take(g.knobs.Percentile))
	if was != g.knobs.MinLimit || g.limit != g.knobs.MinLimit {
		g.lowest = 0
		return
	}
	if g.lowest++; g.lowest >= lowestLimits && g.knobs.FixedMinRTT == 0 {
		g.measure()
	}
}

// next returns the limit after a sample.
func (g *gradient) next(sample time.Duration) int {
	rtt := float64(g.minRTT)
	gradient := min(max(0.5, (rtt+rtt*g.knobs.Buffer)/float64(max(sample, 1))), 2)
	limit := float64(g.limit) * gradient
	return min(max(int(limit+math.Sqrt(limit)), g.knobs.MinLimit), g.knobs.MaxLimit)
}

// Limit implements Limiter.
func (g *gradient) Limit() int { return g.limit }

// jittered returns the time to the next measurement: up to a share of the interval
// longer, in whole milliseconds, by a random number.
func jittered(interval time.Duration, share float64, random uint64) time.Duration {
	if most := uint64(math.Ceil(float64(interval.Milliseconds()) * share)); most > 0 {
		interval += time.Duration(random%most) * time.Millisecond
	}
	return interval
}

// An rttWindow takes samples and gives a quantile of them, in constant memory.
type rttWindow struct {
	n     uint64
	max   time.Duration
	count [bins]uint32
}

func (w *rttWindow) add(rtt time.Duration) {
	rtt = max(rtt, 0)
	w.n++
	w.max = max(w.max, rtt)
	w.count[binOf(rtt)]++
}

// take returns a quantile, at most 1/32 too high, and begins anew. There must be samples.
func (w *rttWindow) take(quantile float64) time.Duration {
	rank := uint64(math.Ceil(quantile * float64(w.n)))
	rtt := w.max
	var seen uint64
	for i, n := range w.count {
		if seen += uint64(n); seen >= rank {
			rtt = min(binTop(i), w.max)
			break
		}
	}
	w.reset()
	return rtt
}

func (w *rttWindow) reset() { *w = rttWindow{} }
