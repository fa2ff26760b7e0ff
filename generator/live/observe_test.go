package live

import (
	"math"
	"net"
	"runtime"
	"runtime/metrics"
	"testing"
	"testing/synctest"
	"time"

	"knee/generator/record"
)

// There is one reading for each window of a run, and none outside.
func TestObserveReadsEachWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &memoryServer{talk: keepAnswering(func(c net.Conn) bool {
			write(c, ok200)
			return true
		})}
		var seen []record.Reading
		r := trip{
			url: "http://server", rate: 10, length: time.Second, timeout: time.Second,
			options: inMemory(s, Options{Observe: func(r record.Reading) {
				if len(seen) == 2 {
					runtime.GC()
				}
				seen = append(seen, r)
			}}),
		}.run(t)
		if r.tally.Good != 10 {
			t.Fatalf("%d good, want 10", r.tally.Good)
		}
		if len(seen) != 5 {
			t.Fatalf("%d readings in a second, want 5", len(seen))
		}
		for i, r := range seen {
			if at := time.Duration(i+1) * record.Window; r.At != at || r.For != record.Window {
				t.Errorf("reading %d is of %v up to %v, want %v up to %v", i, r.For, r.At, record.Window, at)
			}
			if r.Connections != 1 || r.Goroutines < 2 {
				t.Errorf("reading %d: %d connections, %d goroutines", i, r.Connections, r.Goroutines)
			}
		}
		if seen[3].GCCycles < 1 || seen[3].GCPause <= 0 {
			t.Errorf("a collection was forced and shows as %d cycles, pauses up to %v", seen[3].GCCycles, seen[3].GCPause)
		}
	})
}

func TestLongest(t *testing.T) {
	buckets := []float64{0, 1e-6, 1e-3, math.Inf(1)}
	for name, c := range map[string]struct {
		before, after []uint64
		want          time.Duration
	}{
		"none":               {[]uint64{3, 2, 1}, []uint64{3, 2, 1}, 0},
		"the highest of two": {[]uint64{3, 2, 1}, []uint64{4, 3, 1}, time.Millisecond},
		"beyond all":         {[]uint64{0, 0, 0}, []uint64{0, 0, 1}, time.Millisecond},
		"a short one":        {[]uint64{0, 9, 9}, []uint64{1, 9, 9}, time.Microsecond},
	} {
		if got := longest(&metrics.Float64Histogram{Counts: c.after, Buckets: buckets}, c.before); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// What a reading costs is what the generator pays five times a second.
func BenchmarkObserverRead(b *testing.B) {
	s := &memoryServer{talk: keepAnswering(func(net.Conn) bool { return true })}
	d, _, _ := trip{url: "http://server", rate: 1, length: time.Second, options: inMemory(s, Options{Observe: func(record.Reading) {}})}.start(b)
	defer d.Close()
	o := newObserver(d)
	b.ReportAllocs()
	for b.Loop() {
		o.read()
	}
}
