package live

import (
	"math"
	"runtime/metrics"
	"time"

	"knee/generator/host"
	"knee/generator/record"
)

// An observer reads what this process takes of the machine, once a window.
type observer struct {
	driver *Driver
	meter  *host.Meter
	sample []metrics.Sample
	pauses []uint64 // counts of the histogram of pauses, at the last reading
	cycles uint64   // of the collector, at the last reading
	last   time.Duration
}

// What an observer asks the runtime for, in the order of observer.sample.
const (
	gcCycles = iota
	gcPauses
	goroutines
)

func newObserver(d *Driver) *observer {
	o := &observer{driver: d, meter: host.NewMeter(), last: d.Now(), sample: []metrics.Sample{
		gcCycles:   {Name: "/gc/cycles/total:gc-cycles"},
		gcPauses:   {Name: "/sched/pauses/total/gc:seconds"},
		goroutines: {Name: "/sched/goroutines:goroutines"},
	}}
	o.collector()
	return o
}

// observe begins to tell Options.Observe of readings, from start on, and returns
// what ends that. It has a goroutine of its own: the loop pays nothing for it.
func (d *Driver) observe(start time.Duration) (stop func()) {
	if d.notice == nil {
		return func() {}
	}
	ending, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		timer := newTimerPacer(d.Now)
		defer timer.release()
		timer.until(start, ending)
		o := newObserver(d)
		for at := start; ; {
			at = max(at+record.Window, record.NextWindow(d.Now())) // what is long overdue is one reading, not many
			timer.until(at, ending)
			select {
			case <-ending:
				if d.Now()-o.last >= record.Window/2 {
					d.notice(o.read())
				}
				return
			default:
				d.notice(o.read())
			}
		}
	}()
	return func() {
		close(ending)
		<-ended
	}
}

// read returns what was taken since the last time.
func (o *observer) read() record.Reading {
	now, used := o.driver.Now(), o.meter.Read()
	r := record.Reading{
		At: now, For: now - o.last, CPU: used.CPU, ThreadRan: used.ThreadRan, ThreadWaited: used.ThreadWaited,
		Stolen: used.Stolen, Memory: o.meter.Resident(), Connections: o.driver.transport.traffic().Open,
	}
	r.GCCycles, r.GCPause = o.collector()
	r.Goroutines = int(o.sample[goroutines].Value.Uint64())
	// To count the descriptors anew would take longer, the more connections there are.
	r.Descriptors = o.driver.descriptors + r.Connections
	o.last = now
	return r
}

// collector returns how many cycles the garbage collector has ended since the
// last time, and for how long it stopped the program at most.
func (o *observer) collector() (cycles int, pause time.Duration) {
	metrics.Read(o.sample)
	total := o.sample[gcCycles].Value.Uint64()
	cycles, o.cycles = int(total-o.cycles), total
	h := o.sample[gcPauses].Value.Float64Histogram()
	if o.pauses == nil {
		o.pauses = make([]uint64, len(h.Counts))
	}
	pause = longest(h, o.pauses)
	copy(o.pauses, h.Counts)
	return cycles, pause
}

// longest returns the upper end of the highest bucket of h that holds more than
// before, 0 when none does. The highest bucket of all has no upper end: then it
// is the lower one.
func longest(h *metrics.Float64Histogram, before []uint64) time.Duration {
	for i := len(h.Counts) - 1; i >= 0; i-- {
		if h.Counts[i] == before[i] {
			continue
		}
		most := h.Buckets[i+1]
		if math.IsInf(most, 1) {
			most = h.Buckets[i]
		}
		return time.Duration(most * float64(time.Second))
	}
	return 0
}
