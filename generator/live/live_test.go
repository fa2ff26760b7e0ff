package live

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"knee/generator/client"
	"knee/generator/plan"
	"knee/generator/record"
)

// inMemory returns o with its connections going to s, on a clock that a bubble
// can fake.
func inMemory(s *memoryServer, o Options) Options {
	o.Coarse, o.HTTP.Dial = true, s.dial
	return o
}

// inBubble runs a test on a clock of its own, with every engine that can follow it.
func inBubble(t *testing.T, test func(*testing.T, Engine)) {
	for _, e := range engines() {
		if !e.http2 && e.refuses(&Options{Target: &Target{scheme: "http"}, Coarse: true}) == "" {
			t.Run(string(e.name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { test(t, e.name) })
			})
		}
	}
}

// On a fake clock and with a server that takes no time of its own, every stamp
// is exact.
func TestExactStamps(t *testing.T) {
	inBubble(t, func(t *testing.T, engine Engine) {
		var n atomic.Int64
		s := &memoryServer{talk: keepAnswering(func(c net.Conn) bool {
			// 10 ms, 20 ms … 100 ms, and again.
			time.Sleep(time.Duration(n.Add(1)-1)%10*10*time.Millisecond + 10*time.Millisecond)
			write(c, ok200)
			return true
		})}
		r := trip{
			url: "http://server", rate: 5, length: 2 * time.Second, timeout: 55 * time.Millisecond, grace: 100 * time.Millisecond,
			options: inMemory(s, Options{Engine: engine}),
		}.run(t)
		if r.tally.Good != 5 || r.tally.Late != 5 {
			t.Fatalf("good %d, late %d, failed by %v: want 5 and 5", r.tally.Good, r.tally.Late, r.tally.FailedBy)
		}
		step := r.series.Steps()[0]
		about := func(got, want time.Duration) bool { return got >= want && got <= want+want/500 } // histogram: 3 digits
		if !about(step.Response.P50, 30*time.Millisecond) || !about(step.Response.Max, 50*time.Millisecond) {
			t.Errorf("response p50 %v, max %v: want 30ms and 50ms", step.Response.P50, step.Response.Max)
		}
		if !about(step.Late.Max, 100*time.Millisecond) {
			t.Errorf("late max %v: want 100ms", step.Late.Max)
		}
		if step.Lag.Max != 0 || step.Lag.Count != 10 {
			t.Errorf("%d lags up to %v: want 10 of 0", step.Lag.Count, step.Lag.Max)
		}
		if r.length != 2*time.Second {
			t.Errorf("ran for %v: want 2s", r.length)
		}
	})
}

// Whatever comes in between, requests are sent at ticks only.
func TestTick(t *testing.T) {
	inBubble(t, func(t *testing.T, engine Engine) {
		var mu sync.Mutex
		came := map[time.Time]int{}
		s := &memoryServer{talk: keepAnswering(func(c net.Conn) bool {
			mu.Lock()
			came[time.Now()]++
			mu.Unlock()
			time.Sleep(3 * time.Millisecond)
			write(c, ok200)
			return true
		})}
		r := trip{
			url: "http://server", rate: 1000, length: time.Second, timeout: time.Second,
			options: inMemory(s, Options{Engine: engine, Tick: 10 * time.Millisecond}),
		}.run(t)
		if r.tally.Good != 1000 || len(came) < 100 || len(came) > 101 {
			t.Errorf("good %d, at %d instants: want 1000 at 100", r.tally.Good, len(came))
		}
		for at, n := range came {
			if n > 10 {
				t.Errorf("%d requests at %v: want the 10 of a tick", n, at)
			}
		}
		if lag := r.series.Steps()[0].Lag; lag.Max > 10*time.Millisecond {
			t.Errorf("lag up to %v: want at most a tick", lag.Max)
		}
	})
}

// Answers count from when they were complete, not from when the loop saw them.
func TestStampsAreNotTheLoops(t *testing.T) {
	early, late := &call{done: 5}, &call{done: 9}
	d, _, _ := trip{url: "http://127.0.0.1:1", rate: 1, length: time.Second, options: Options{Engine: NetHTTP}}.start(t)
	defer d.Close()
	posts := &d.transport.(*netHTTP).relay
	posts.post(late)
	posts.post(early)
	d.takeAnswers() // nobody waits for them
	if d.batch[0] != early || d.batch[1] != late {
		t.Error("answers are not taken in the order of their instants")
	}
	if d.last != 0 {
		t.Errorf("answers nobody waits for moved the clock to %v", d.last)
	}
}

func TestNoHiddenRetry(t *testing.T) {
	for _, method := range []string{"GET", "POST"} {
		t.Run(method, func(t *testing.T) {
			inBubble(t, func(t *testing.T, engine Engine) {
				var seen atomic.Int64
				var conns atomic.Int64
				s := &memoryServer{}
				s.talk = func(c net.Conn) {
					conns.Add(1)
					requests := 0
					keepAnswering(func(c net.Conn) bool {
						seen.Add(1)
						requests++
						if requests == 2 { // taken, and then the connection is closed
							return false
						}
						write(c, ok200)
						return true
					})(c)
				}
				r := trip{
					url: "http://server", rate: 10, length: 2 * time.Second,
					options: inMemory(s, Options{Engine: engine, Requests: []Request{{Method: method}}}),
				}.run(t)
				if seen.Load() != 20 {
					t.Errorf("the server saw %d requests: want 20, as many as were sent", seen.Load())
				}
				want := map[string]uint64{ResetIdle: 10}
				if r.tally.Good != 10 || !maps.Equal(r.tally.FailedBy, want) {
					t.Errorf("good %d, failed by %v: want 10 and %v", r.tally.Good, r.tally.FailedBy, want)
				}
				if r.stats.Opened != 10 || r.stats.Reused != 10 {
					t.Errorf("opened %d, reused %d: want 10 and 10", r.stats.Opened, r.stats.Reused)
				}
			})
		})
	}
}

// A server that dies at work on a kept connection is not one that closed it idle.
func TestLateCloseOfKeptConnection(t *testing.T) {
	inBubble(t, func(t *testing.T, engine Engine) {
		s := &memoryServer{}
		s.talk = func(c net.Conn) {
			requests := 0
			keepAnswering(func(c net.Conn) bool {
				if requests++; requests == 2 {
					time.Sleep(50 * time.Millisecond)
					return false
				}
				write(c, ok200)
				return true
			})(c)
		}
		r := trip{url: "http://server", rate: 10, length: 2 * time.Second, options: inMemory(s, Options{Engine: engine})}.run(t)
		if r.tally.FailedBy[EOF] != 10 {
			t.Errorf("failed by %v: want 10 %s", r.tally.FailedBy, EOF)
		}
	})
}

// A connection that the server closed while it was idle is noticed and not used.
func TestClosedIdleConnectionsAreNotUsed(t *testing.T) {
	inBubble(t, func(t *testing.T, engine Engine) {
		s := &memoryServer{talk: keepAnswering(func(c net.Conn) bool {
			write(c, ok200)
			time.Sleep(10 * time.Millisecond)
			return false
		})}
		r := trip{url: "http://server", rate: 10, length: time.Second, options: inMemory(s, Options{Engine: engine})}.run(t)
		if r.tally.Good != 10 || r.stats.Opened != 10 || r.stats.Reused != 0 {
			t.Errorf("good %d, opened %d, reused %d, failed by %v: want 10, 10, 0", r.tally.Good, r.stats.Opened, r.stats.Reused, r.tally.FailedBy)
		}
	})
}

func TestConnectionsFollowThePeakInFlight(t *testing.T) {
	inBubble(t, func(t *testing.T, engine Engine) {
		s := &memoryServer{talk: keepAnswering(func(c net.Conn) bool {
			time.Sleep(50 * time.Millisecond)
			write(c, ok200)
			return true
		})}
		r := trip{url: "http://server", rate: 400, length: 5 * time.Second, options: inMemory(s, Options{Engine: engine})}.run(t)
		if r.tally.Good != 2000 {
			t.Fatalf("good %d: want 2000", r.tally.Good)
		}
		if s.opened > 22 { // 400/s × 50 ms
			t.Errorf("opened %d connections for 20 requests in flight", s.opened)
		}
	})
}

func TestWarmConnectionsAreUsed(t *testing.T) {
	inBubble(t, func(t *testing.T, engine Engine) {
		s := &memoryServer{talk: keepAnswering(func(c net.Conn) bool {
			time.Sleep(50 * time.Millisecond)
			write(c, ok200)
			return true
		})}
		d, series, p := trip{url: "http://server", rate: 100, length: time.Second, options: inMemory(s, Options{Engine: engine})}.start(t)
		if err := d.Warm(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
		if got := series.Steps(); len(got) != 0 {
			t.Fatalf("warming recorded %d steps", len(got))
		}
		if err := d.Run(t.Context(), 0, p); err != nil {
			t.Fatal(err)
		}
		d.Close()
		if s.opened != 10 {
			t.Errorf("opened %d connections: want the 10 of the warm-up", s.opened)
		}
	})
}

func TestSilentServer(t *testing.T) {
	for _, hangUp := range []bool{false, true} {
		t.Run(fmt.Sprintf("close=%v", hangUp), func(t *testing.T) {
			inBubble(t, func(t *testing.T, engine Engine) {
				s := &memoryServer{talk: keepAnswering(func(c net.Conn) bool {
					_, _ = c.Read(make([]byte, 1)) // until the client hangs up
					return false
				})}
				r := trip{
					url: "http://server", rate: 20, length: 5 * time.Second, timeout: 500 * time.Millisecond, grace: 200 * time.Millisecond,
					client: client.Options{Close: hangUp}, options: inMemory(s, Options{Engine: engine}),
				}.run(t)
				if r.tally.Timeout != 100 || r.tally.Good != 0 {
					t.Errorf("timeout %d, good %d, failed by %v: want 100 timeouts", r.tally.Timeout, r.tally.Good, r.tally.FailedBy)
				}
				s.running.Wait() // every connection was closed
			})
		})
	}
}

// An answer that comes after the wait has ended goes nowhere.
func TestLateAnswersAreDiscarded(t *testing.T) {
	inBubble(t, func(t *testing.T, engine Engine) {
		s := &memoryServer{talk: keepAnswering(func(c net.Conn) bool {
			time.Sleep(100 * time.Millisecond) // at the very instant of the cancel
			write(c, ok200)
			return true
		})}
		r := trip{url: "http://server", rate: 50, length: 2 * time.Second, timeout: 100 * time.Millisecond, options: inMemory(s, Options{Engine: engine})}.run(t)
		if r.tally.Good+r.tally.Late+r.tally.Timeout != 100 {
			t.Errorf("%+v: want 100 in time or timed out", r.tally.Counts)
		}
	})
}

func TestCancelledRunDrains(t *testing.T) {
	inBubble(t, func(t *testing.T, engine Engine) {
		s := &memoryServer{talk: keepAnswering(func(c net.Conn) bool {
			time.Sleep(300 * time.Millisecond)
			write(c, ok200)
			return true
		})}
		why := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Second, func() { cancel(why) })
		r := trip{url: "http://server", rate: 10, length: time.Minute, timeout: time.Second, options: inMemory(s, Options{Engine: engine}), ctx: ctx}.run(t)
		if !errors.Is(r.err, why) {
			t.Errorf("error %v: want the cause", r.err)
		}
		if r.tally.Planned != 10 || r.tally.Good != 10 {
			t.Errorf("planned %d, good %d: want 10 and 10", r.tally.Planned, r.tally.Good)
		}
		if r.length != 1250*time.Millisecond {
			t.Errorf("ended after %v: want 1.25s, when the last answer came", r.length)
		}
	})
}

func TestCancelledBeforeItBegins(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := trip{url: "http://127.0.0.1:1", rate: 10, length: time.Minute, ctx: ctx}.run(t)
	if !errors.Is(r.err, context.Canceled) || r.tally.Attempts != 0 {
		t.Errorf("error %v, %d attempts: want it cancelled and none", r.err, r.tally.Attempts)
	}
}

func TestRunsFollowEachOther(t *testing.T) {
	inBubble(t, func(t *testing.T, engine Engine) {
		s := &memoryServer{talk: keepAnswering(func(c net.Conn) bool { write(c, ok200); return true })}
		d, series, p := trip{url: "http://server", rate: 10, length: time.Second, options: inMemory(s, Options{Engine: engine})}.start(t)
		defer d.Close()
		for trial := range 3 {
			if err := d.Run(t.Context(), trial, p); err != nil {
				t.Fatal(err)
			}
		}
		for i, step := range series.Steps() {
			if step.Info.Index != i || step.Info.Trial != i || step.Info.Start != time.Duration(i)*time.Second || step.Total.Good != 10 {
				t.Errorf("step %d: %+v with %d good", i, step.Info, step.Total.Good)
			}
		}
		if d.Stats().Opened != 1 {
			t.Errorf("opened %d connections: want 1 for all runs", d.Stats().Opened)
		}
	})
}

// What this machine lacks is not the server's failure.
func TestLocalFaults(t *testing.T) {
	for name, test := range map[string]struct {
		err  error
		want string
	}{
		"descriptors of the process": {syscall.EMFILE, Descriptors},
		"descriptors of the system":  {syscall.ENFILE, Descriptors},
		"ports":                      {syscall.EADDRNOTAVAIL, Ports},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, engine Engine) {
				dial := func(context.Context, string, string) (net.Conn, error) {
					return nil, &net.OpError{Op: "dial", Err: test.err}
				}
				r := trip{url: "http://server", rate: 10, length: time.Second, options: Options{Engine: engine, Coarse: true, HTTP: HTTP{Dial: dial}}}.run(t)
				if r.tally.UnsentBy[test.want] != 10 || r.tally.Sent != 0 {
					t.Errorf("unsent by %v, sent %d: want 10 %s", r.tally.UnsentBy, r.tally.Sent, test.want)
				}
			})
		})
	}
}

func TestConnectTimeout(t *testing.T) {
	inBubble(t, func(t *testing.T, engine Engine) {
		dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		r := trip{
			url: "http://server", rate: 10, length: time.Second,
			options: Options{Engine: engine, Coarse: true, HTTP: HTTP{Dial: dial, ConnectTimeout: time.Second}},
		}.run(t)
		if r.tally.FailedBy[ConnectTimeout] != 10 {
			t.Errorf("failed by %v: want 10 %s", r.tally.FailedBy, ConnectTimeout)
		}
	})
}

func TestInFlightBound(t *testing.T) {
	inBubble(t, func(t *testing.T, engine Engine) {
		s := &memoryServer{talk: keepAnswering(func(c net.Conn) bool {
			time.Sleep(500 * time.Millisecond)
			write(c, ok200)
			return true
		})}
		r := trip{
			url: "http://server", rate: 40, length: 10 * time.Second,
			client: client.Options{MaxInFlight: 1}, options: inMemory(s, Options{Engine: engine}),
		}.run(t)
		if s.opened != 1 || r.tally.Sent != 20 || r.tally.UnsentBy[client.ReasonInFlight] != 380 {
			t.Errorf("opened %d, sent %d, unsent by %v: want 1, 20 and 380 in_flight", s.opened, r.tally.Sent, r.tally.UnsentBy)
		}
	})
}

func TestRejectionsKeepTheirReason(t *testing.T) {
	overPlain(t, func(t *testing.T, engine Engine) {
		seen, url := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Knee-Class") != "any" || r.Header.Get("Knee-Work-Ns") != "0" || r.Header.Get("Knee-Timeout-Ms") == "" || r.Header.Get("Knee-Client") != "0" {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			w.Header().Set("Knee-Reason", "Queue full!")
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		r := trip{url: url, rate: 100, length: 100 * time.Millisecond, options: Options{Engine: engine, Knee: true}}.run(t)
		if r.tally.RejectedBy["queue_full_"] != 10 || seen.seen() != 10 {
			t.Errorf("rejected by %v, failed by %v, %d seen: want 10 queue_full_", r.tally.RejectedBy, r.tally.FailedBy, seen.seen())
		}
	})
}

func TestOptionsAreChecked(t *testing.T) {
	target, err := ParseTarget("http://127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	recorder := record.NewRecorder(record.RecorderOptions{Classes: []string{"any"}, MaxLatency: time.Second})
	fine := Options{Target: target, Recorder: recorder, Client: client.Options{Classes: []plan.Class{{Name: "any", Timeout: time.Second, Deadline: time.Second}}}}
	for name, bend := range map[string]func(*Options){
		"no target":         func(o *Options) { o.Target = nil },
		"no classes":        func(o *Options) { o.Client.Classes = nil },
		"negative dials":    func(o *Options) { o.HTTP.MaxDials = -1 },
		"path with a space": func(o *Options) { o.Requests = []Request{{Path: "/a b"}} },
		"path of no form":   func(o *Options) { o.Requests = []Request{{Path: "a"}} },
		"method of two":     func(o *Options) { o.Requests = []Request{{Method: "GET /"}} },
		"header with break": func(o *Options) { o.Requests = []Request{{Header: http.Header{"A": {"b\r\nC: d"}}}} },
	} {
		t.Run(name, func(t *testing.T) {
			o := fine
			bend(&o)
			if _, err := New(o); err == nil {
				t.Error("want an error")
			}
		})
	}
	d, err := New(fine)
	if err != nil {
		t.Fatal(err)
	}
	if d.Reset(t.Context()) == nil {
		t.Error("a server of others cannot be reset: want an error")
	}
	d.Close()
}
