package record

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestHotPathDoesNotAllocate(t *testing.T) {
	s := NewSeries([]string{"a", "b"})
	l := newLife(func(d *Delta) { s.Add(d); d.Release() })
	kinds := []Ending{
		{Kind: Good},
		{Kind: Rejected, Reason: "queue_full"},
		{Kind: Rejected, Reason: "codel"},
		{Kind: Late},
		{Kind: Failed, Reason: "reset"},
		{Kind: Timeout},
	}
	run := func(n int) {
		for range n {
			l.arrive()
			l.end(&kinds[l.n%len(kinds)])
			l.next()
		}
	}
	run(100_000) // 10 s: every pool is filled
	// 0.15 s at a time: windows and seconds end within.
	if got := testing.AllocsPerRun(200, func() { run(1500) }); got > 1 { // the series grows now and then
		t.Errorf("1500 originals allocate %v times, want 0", got)
	}
	l.r.sink = (*Delta).Release
	if got := testing.AllocsPerRun(200, func() { run(1500) }); got != 0 {
		t.Errorf("without a series, 1500 originals allocate %v times, want 0", got)
	}
}

// A recorder is ticked by its instants as well: nobody has to be punctual.
func TestWindowsEndWithoutATick(t *testing.T) {
	var got []int
	r := NewRecorder(RecorderOptions{Classes: []string{"a"}, MaxLatency: time.Second, Sink: func(d *Delta) { got = append(got, d.Window) }})
	r.Begin(StepInfo{Duration: 10 * time.Second})
	r.Planned(0, 0, 0)
	r.Attempt(0, 0, 0, 0, 450*time.Millisecond, true, false)
	r.Tick(599 * time.Millisecond)
	r.End(&Ending{Planned: 0, Sent: 450 * time.Millisecond, Done: 3 * time.Second})
	if next := r.NextTick(); next != 3200*time.Millisecond {
		t.Errorf("next tick is %v, want 3.2s", next)
	}
	r.Flush(3 * time.Second)
	r.Flush(3 * time.Second)
	if want := []int{0, 2, 15}; !slices.Equal(got, want) {
		t.Errorf("deltas of windows %v, want %v", got, want)
	}
}

// Histograms are handed over once a second, counters in every window.
func TestHistogramsComeOnceASecond(t *testing.T) {
	var got []string
	l := newLife(func(d *Delta) {
		got = append(got, fmt.Sprintf("%d:%d/%d", d.Window, len(d.Cells), len(d.Hists)))
		d.Release()
	})
	for l.now < 1400*time.Millisecond {
		l.r.Planned(0, 0, l.now)
		l.r.Attempt(0, 0, l.now, l.now, l.now, true, false)
		l.next()
	}
	l.r.Flush(l.now)
	want := []string{"0:1/0", "1:1/0", "2:1/0", "3:1/0", "4:1/1", "5:1/0", "6:1/0"}
	if !slices.Equal(got[:len(want)], want) {
		t.Errorf("window:cells/histograms are %v, want %v", got, want)
	}
	if last := got[len(got)-1]; !strings.HasSuffix(last, "/1") {
		t.Errorf("the flush brought %s, want the histograms that were pending", last)
	}
}

// A server that makes up reasons does not fill the memory.
func TestReasonsAreBounded(t *testing.T) {
	s := NewSeries([]string{"a"})
	r := NewRecorder(RecorderOptions{Classes: []string{"a"}, MaxLatency: time.Second, Sink: s.Add})
	r.Begin(StepInfo{Duration: time.Second})
	for i := range 10_000 {
		r.Planned(0, 0, 0)
		r.Attempt(0, 0, 0, 0, 0, true, false)
		r.End(&Ending{Kind: Rejected, Reason: fmt.Sprint("made up ", i)})
	}
	r.Flush(0)
	total := s.Total()
	if err := total.Conserved(); err != nil {
		t.Error(err)
	}
	if n := len(total.RejectedBy); n != mostReasons+1 {
		t.Errorf("%d reasons are kept, want %d", n, mostReasons+1)
	}
	if n := total.RejectedBy[otherReason]; n != 10_000-mostReasons {
		t.Errorf("%d rejections are %q, want %d", n, otherReason, 10_000-mostReasons)
	}
}

func TestRecorderRefusesMistakes(t *testing.T) {
	for name, mistake := range map[string]func(*Recorder){
		"a step that has not begun": func(r *Recorder) { r.Planned(1, 0, 0) },
		"a step that begins twice":  func(r *Recorder) { r.Begin(StepInfo{}) },
		"a step that is left out":   func(r *Recorder) { r.Begin(StepInfo{Index: 2}) },
		"no classes":                func(*Recorder) { NewRecorder(RecorderOptions{MaxLatency: time.Second}) },
		"no longest latency":        func(*Recorder) { NewRecorder(RecorderOptions{Classes: []string{"a"}}) },
	} {
		t.Run(name, func(t *testing.T) {
			r := NewRecorder(RecorderOptions{Classes: []string{"a"}, MaxLatency: time.Second})
			r.Begin(StepInfo{})
			defer func() {
				if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "record: ") {
					t.Errorf("it says %q, want a panic that begins with the package", got)
				}
			}()
			mistake(r)
		})
	}
}

// What a run costs does not depend on its rate, and on its length only by the
// windows.
func TestMemoryDoesNotGrowWithTheRun(t *testing.T) {
	heap := func(length, gap time.Duration) int64 {
		before := inUse()
		s := NewSeries([]string{"a", "b"})
		l := newLife(func(d *Delta) { s.Add(d); d.Release() })
		l.gap = gap
		e := Ending{Kind: Good}
		for l.now < length {
			l.arrive()
			l.end(&e)
			l.next()
		}
		l.r.Flush(l.now)
		if got, want := s.Total().Good, uint64(length/gap)-255; got != want {
			t.Fatalf("%d good originals are kept of a run of %v, want %d", got, length, want)
		}
		after := inUse()
		runtime.KeepAlive(l)
		return int64(after) - int64(before)
	}
	minute, longer := heap(time.Minute, 4*time.Millisecond), heap(10*time.Minute, 4*time.Millisecond)
	windows := int64(9 * time.Minute / Window)
	t.Logf("a minute costs %d bytes, each window after it %d", minute, (longer-minute)/windows)
	if longer-minute > windows*WindowCost {
		t.Errorf("nine minutes more cost %d bytes, want at most %d for each of %d windows", longer-minute, WindowCost, windows)
	}
	if busy := heap(time.Minute, 400*time.Microsecond); busy-minute > 1<<20 {
		t.Errorf("ten times the rate costs %d bytes more", busy-minute)
	}
}

func inUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
