package record

import (
	"testing"
	"time"
)

// life books originals as a simulator does: they arrive one after the other and
// end, in another order, when a few hundred more have arrived.
type life struct {
	r     *Recorder
	now   time.Duration
	gap   time.Duration
	n     int // of the newest original
	since [1024]time.Duration
}

func newLife(sink func(*Delta)) *life {
	r := NewRecorder(RecorderOptions{Classes: []string{"a", "b"}, MaxLatency: 300 * time.Millisecond, Sink: sink})
	r.Begin(StepInfo{Phase: "hold", Duration: time.Hour})
	return &life{r: r, gap: 100 * time.Microsecond}
}

func (l *life) arrive() {
	l.since[l.n%len(l.since)] = l.now
	l.r.Planned(0, l.n&1, l.now)
	l.r.Attempt(0, l.n&1, l.now, l.now, l.now, true, false)
}

// end ends, in the way of e, an original that arrived 128 to 382 before the
// newest. In each block of 128 every one gets its turn.
func (l *life) end(e *Ending) {
	m := l.n - 255
	if m < 0 {
		return
	}
	m ^= m >> 7 & 127
	e.Class, e.Planned = m&1, l.since[m%len(l.since)]
	e.Sent, e.Done = e.Planned, l.now
	l.r.End(e)
}

func (l *life) next() {
	l.now += l.gap
	l.n++
	l.r.Tick(l.now)
}

func BenchmarkOriginal(b *testing.B) {
	for name, e := range map[string]Ending{
		"good":     {Kind: Good},
		"rejected": {Kind: Rejected, Reason: "queue_full"},
		"timeout":  {Kind: Timeout},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			l := newLife(nil)
			for b.Loop() {
				l.arrive()
				l.end(&e)
				l.next()
			}
		})
	}
}

func BenchmarkOriginalIntoSeries(b *testing.B) {
	b.ReportAllocs()
	s := NewSeries([]string{"a", "b"})
	l := newLife(func(d *Delta) { s.Add(d); d.Release() })
	e := Ending{Kind: Good}
	for b.Loop() {
		l.arrive()
		l.end(&e)
		l.next()
	}
}

func BenchmarkPlanned(b *testing.B) {
	l := newLife(nil)
	for b.Loop() {
		l.r.Planned(0, 0, 1000)
	}
}

func BenchmarkAttempt(b *testing.B) {
	for name, lag := range map[string]time.Duration{"on time": 0, "late": 37 * time.Microsecond} {
		b.Run(name, func(b *testing.B) {
			l := newLife(nil)
			for b.Loop() {
				l.r.Attempt(0, 0, 1000, 1000, 1000+lag, true, false)
			}
		})
	}
}

func BenchmarkEnd(b *testing.B) {
	for name, e := range map[string]Ending{
		"good":     {Kind: Good, Planned: time.Millisecond, Sent: 2 * time.Millisecond, Done: 50 * time.Millisecond},
		"rejected": {Kind: Rejected, Reason: "queue_full", Planned: time.Millisecond, Sent: 2 * time.Millisecond, Done: 50 * time.Millisecond},
		"unsent":   {Kind: Unsent, Reason: "in_flight", Planned: time.Millisecond, Done: time.Millisecond},
	} {
		b.Run(name, func(b *testing.B) {
			l := newLife(nil)
			for b.Loop() {
				l.r.End(&e)
			}
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	b.ReportAllocs()
	h := NewHistogram(600 * time.Millisecond)
	for i := range 2000 {
		h.Record(time.Duration(i*i) * 100 * time.Nanosecond)
	}
	var e hdrEncoder
	var buf []byte
	for b.Loop() {
		buf = e.append(buf[:0], h)
	}
	b.ReportMetric(float64(len(buf)), "bytes")
}
