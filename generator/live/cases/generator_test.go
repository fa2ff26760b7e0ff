package cases

import (
	"context"
	"net"
	"testing"
	"time"

	"knee/generator/client"
	"knee/generator/live"
	"knee/generator/record"
	"knee/target/null"
)

// overBad carries out a trip over every engine of HTTP/1.1, each against a server of
// badserver.py of its own, and tests what came of it.
func overBad(t *testing.T, args string, r trip, test func(t *testing.T, o outcome, s badStats)) {
	t.Helper()
	needPython(t)
	for _, engine := range plain() {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			s := startBad(t, args)
			o := r.run(t, s.url, engine)
			o.check(t, s, false)
			test(t, o, s.look(t))
		})
	}
}

// tsenart/vegeta#164, hatoo/oha#100: at low rates the wait for the next tick of the
// schedule was counted as latency.
func TestLatencyHoldsNoWaitForTheSchedule(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		trip trip
		want uint64
	}{
		"4/s":   {trip{rate: 4, length: 2 * time.Second}, 8},
		"20/s":  {trip{rate: 20, length: 600 * time.Millisecond}, 12},
		"200/s": {trip{rate: 200, length: 600 * time.Millisecond}, 120},
	} {
		t.Run("gen-01 "+name, func(t *testing.T) {
			t.Parallel()
			overBad(t, "ok --fast-ms 5", c.trip, func(t *testing.T, o outcome, s badStats) {
				if o.tally.Good != c.want || s.Counters["requests"] != c.want || o.fastest() < 5*time.Millisecond {
					t.Errorf("good %d, the fastest in %v, the server saw %d: want %d", o.tally.Good, o.fastest(), s.Counters["requests"], c.want)
				}
			})
		})
	}
}

// Of eight requests in a row half have an answer before a fifth of a gap is over. It
// runs before the tests that run beside others.
func TestMedianHoldsNoWaitForTheSchedule(t *testing.T) {
	for _, engine := range plain() {
		t.Run("gen-01/"+string(engine), func(t *testing.T) {
			t.Parallel()
			var half time.Duration
			for range tries {
				o, _ := againstNull(t, trip{rate: 10, length: 800 * time.Millisecond}, engine)
				if half = o.step.Response.P50; half < 20*time.Millisecond {
					return
				}
			}
			t.Errorf("p50 is %v against a server that takes no time: half a gap would be 50ms", half)
		})
	}
}

// PerfCake/PerfCake#258, gatling/gatling#2077, wg/wrk#485: a freeze of the server
// nearly vanished, as nothing was sent while it lasted.
func TestFreezeShowsAtItsSize(t *testing.T) {
	t.Parallel()
	needPython(t)
	for _, engine := range plain() {
		t.Run("gen-03/"+string(engine), func(t *testing.T) {
			t.Parallel()
			var during uint64
			for range tries {
				// From a second after the first request on nothing is answered for 700 ms.
				s := startBad(t, "periodic-stall --period-s 1 --stall-s 0.7")
				o := trip{rate: 100, length: 2 * time.Second}.run(t, s.url, engine)
				o.check(t, s, false)
				if o.tally.Good != 200 {
					t.Fatalf("ended as %s: want 200 good", say(o.endings()))
				}
				// Of the 70 requests of the freeze 35 take more than 350 ms, and no noise makes them faster.
				if got := o.series.Histogram(0, record.All, record.Response).Quantile(0.85); got < 350*time.Millisecond {
					t.Fatalf("p85 is %v: want 400ms and more", got)
				}
				if during = s.look(t).PerSecond["1"]; during >= 60 {
					return
				}
			}
			t.Errorf("%d requests came in the second of the freeze: want 100, and 30 if nothing is sent during it", during)
		})
	}
}

// fortio/fortio#469, #419, rakyll/hey#72, #140: the schedule fell behind with few
// connections, and the rate was meant per worker.
func TestScheduleHoldsWithFewConnections(t *testing.T) {
	t.Parallel()
	for name, most := range map[string]int{"gen-04 1": 1, "gen-04 10": 10, "gen-04 100": 100} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			overBad(t, "ok --fast-ms 500", trip{length: time.Second, most: most}, func(t *testing.T, o outcome, s badStats) {
				if o.tally.Sent+o.tally.UnsentBy[client.ReasonInFlight] != 40 || o.tally.Good != o.tally.Sent {
					t.Errorf("ended as %s: want 40, sent or unsent", say(o.endings()))
				}
				if s.Most > most || o.tally.Sent < uint64(min(most, 40)) || most == 100 && o.tally.Sent != 40 {
					t.Errorf("%d sent, up to %d at once: want up to %d at once", o.tally.Sent, s.Most, most)
				}
			})
		})
	}
}

// golang/go#61042, #17696, #14132: sleeps are rounded up to a millisecond, and rates
// become 1000/s or 2000/s. It runs before the tests that run beside others. The
// pacing of net/http is that of netconn, and it is too slow for this rate.
func TestRatesAreNotThoseOfTheClock(t *testing.T) {
	for _, engine := range plain() {
		if engine == live.NetHTTP {
			continue
		}
		t.Run("gen-06/"+string(engine), func(t *testing.T) {
			const rate, length = 4000, 500 * time.Millisecond
			var half time.Duration
			for range tries { // until the machine has not stood still
				o, arrivals := againstNull(t, trip{rate: rate, length: length}, engine)
				if o.tally.Good != 2000 || len(arrivals) != 2000 {
					t.Fatalf("ended as %s, and the server saw %d: want 2000 good", say(o.endings()), len(arrivals))
				}
				// With a gap of a millisecond instead of a quarter it would be a second.
				if half = time.Duration(arrivals[1000] - arrivals[0]); half < 400*time.Millisecond {
					return
				}
			}
			t.Errorf("1000 requests came in %v: want 250ms", half)
		})
	}
}

// againstNull carries a trip out against a server that does nothing, and returns
// when the requests came, in nanoseconds.
func againstNull(t *testing.T, r trip, engine live.Engine) (outcome, []int64) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := null.New(l, null.Options{Arrivals: 10_000})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	over := make(chan error, 1)
	go func() { over <- s.Serve(ctx) }()
	o := r.run(t, "http://"+l.Addr().String(), engine)
	stop()
	if err := <-over; err != nil {
		t.Error(err)
	}
	if n := s.Requests(); n != o.tally.Attempts {
		t.Errorf("the server saw %d requests, %d were sent", n, o.tally.Attempts)
	}
	return o, s.Arrivals()
}
