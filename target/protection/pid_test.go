package protection_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"knee/target/protection"
)

// waiting is a load whose wait is d at 1000/s.
func waiting(d time.Duration) protection.Load {
	if d == 0 {
		return protection.Load{Workers: 10, CostRate: 1000, Oldest: protection.Never}
	}
	return protection.Load{Waiting: 1 + int(d.Seconds()*1000), QueuedCost: d.Seconds() * 1000, Workers: 10, CostRate: 1000}
}

// refuses returns the share that p refuses now, from many questions.
func refuses(p protection.Protection) float64 {
	const n = 20_000
	refused := 0.0
	for range n {
		if p.Admit(0, &protection.Request{}, protection.Load{}) != "" {
			refused++
		}
	}
	return refused / n
}

// TestPIDLaw puts each term of the law to the test by itself, with looks a second apart.
func TestPIDLaw(t *testing.T) {
	const second = time.Second
	knobs := func(kp, ki, kd float64) map[string]any {
		return map[string]any{"setpoint": 100 * ms, "period": second, "kp": kp, "ki": ki, "kd": kd}
	}
	for _, tt := range []struct {
		name  string
		knobs map[string]any
		waits []time.Duration // one at each look, from the start
		want  float64
	}{
		{"the first look is one only", knobs(1, 0, 0), []time.Duration{200 * ms}, 0},
		{"proportional", knobs(0.25, 0, 0), []time.Duration{0, 200 * ms}, 0.25},
		{"proportional, at the setpoint", knobs(0.25, 0, 0), []time.Duration{0, 100 * ms}, 0},
		{"proportional, no less than 0", knobs(0.25, 0, 0), []time.Duration{0, 50 * ms}, 0},
		{"proportional, no more than 1", knobs(0.25, 0, 0), []time.Duration{0, time.Minute}, 1},
		{"integral", knobs(0, 0.1, 0), []time.Duration{0, 200 * ms, 200 * ms, 200 * ms}, 0.3},
		{"integral falls", knobs(0, 0.1, 0), []time.Duration{0, 200 * ms, 200 * ms, 200 * ms, 0}, 0.2},
		{"integral stays at the setpoint", knobs(0, 0.1, 0), []time.Duration{0, 300 * ms, 100 * ms, 100 * ms}, 0.2},
		{"integral, no less than 0", knobs(0, 0.1, 0), []time.Duration{0, 0, 0, 0, 200 * ms}, 0.1},
		{"integral waits while all are refused", knobs(1, 0.1, 0), []time.Duration{0, 300 * ms, 300 * ms, 300 * ms, 100 * ms}, 0.2},
		{"derivative", knobs(0, 0, 0.2), []time.Duration{0, 100 * ms, 250 * ms}, 0.3},
		{"derivative falls", knobs(0, 0, 0.2), []time.Duration{0, 250 * ms, 100 * ms}, 0},
		{"all", knobs(0.1, 0.1, 0.1), []time.Duration{100 * ms, 200 * ms, 300 * ms}, 0.1*2 + 0.1*3 + 0.1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := must(t, "pid", tt.knobs)
			now := 3 * second
			for _, w := range tt.waits {
				if next := p.(protection.Ticker).Tick(now, waiting(w)); next != now+second {
					t.Fatalf("wants to look again at %v, want %v", next, now+second)
				}
				now += second
			}
			if got := refuses(p); math.Abs(got-tt.want) > 0.02 {
				t.Errorf("refuses %.3f, want %.3f", got, tt.want)
			}
		})
	}
}

func TestPIDWithoutWorkers(t *testing.T) {
	p := must(t, "pid", nil)
	ticker := p.(protection.Ticker)
	now := time.Duration(0)
	for range 10 {
		ticker.Tick(now, protection.Load{Waiting: 1, QueuedCost: 1})
		now += 10 * ms
	}
	if got := refuses(p); got != 1 {
		t.Errorf("refuses %.3f of the requests, want all: the wait has no end", got)
	}
	if p.Admit(0, &protection.Request{Protected: true}, protection.Load{}) != "" {
		t.Error("a protected request was refused")
	}
}

// plant is a server of 1000/s that p defends, as fluid with chance in what comes.
type plant struct {
	p     protection.Protection
	rng   *rand.Rand
	now   time.Duration
	queue float64
	next  time.Duration
}

// run offers so much for d and returns the mean and the longest wait.
func (x *plant) run(offered float64, d time.Duration) (mean, longest time.Duration) {
	const step = 100 * time.Microsecond
	sum, n := 0.0, 0
	for end := x.now + d; x.now < end; x.now += step {
		if x.now >= x.next {
			x.next = x.p.(protection.Ticker).Tick(x.now, waiting(time.Duration(x.queue*float64(ms))))
		}
		if expect := offered * step.Seconds(); x.rng.Float64() < expect-math.Floor(expect) {
			x.arrive()
		}
		for range int(offered * step.Seconds()) {
			x.arrive()
		}
		x.queue = max(0, x.queue-1000*step.Seconds())
		sum += x.queue
		n++
		longest = max(longest, time.Duration(x.queue*float64(ms)))
	}
	return time.Duration(sum / float64(n) * float64(ms)), longest
}

func (x *plant) arrive() {
	if x.p.Admit(x.now, &protection.Request{}, protection.Load{}) == "" {
		x.queue++
	}
}

// TestPIDHoldsTheSetpoint holds that the defaults settle within a second at all
// loads that they are for, and hold the wait at the setpoint.
func TestPIDHoldsTheSetpoint(t *testing.T) {
	for _, times := range []float64{1.2, 2, 5, 10} {
		t.Run(fmt.Sprint(times), func(t *testing.T) {
			x := &plant{p: must(t, "pid", nil), rng: rand.New(rand.NewPCG(3, 4))}
			_, overshoot := x.run(times*1000, time.Second)
			mean, longest := x.run(times*1000, 20*time.Second)
			if mean < 45*ms || mean > 55*ms || longest > 100*ms {
				t.Errorf("wait %v on average, %v at most, after a second; want 50ms, and 100ms at most", mean, longest)
			}
			if overshoot > 200*ms {
				t.Errorf("wait %v at most in the first second, want 200ms at most", overshoot)
			}
		})
	}
}

// TestPIDDoesNotWindUp holds that an hour of overload is forgotten as soon as a second.
func TestPIDDoesNotWindUp(t *testing.T) {
	for _, spell := range []time.Duration{2 * time.Second, time.Hour} {
		p := must(t, "pid", nil)
		ticker := p.(protection.Ticker)
		var now time.Duration
		for ; now < spell; now += 10 * ms {
			ticker.Tick(now, waiting(time.Minute)) // it refuses all, and that is not enough
		}
		if got := refuses(p); got != 1 {
			t.Fatalf("refuses %.3f, want all", got)
		}
		for end := now + 800*ms; now <= end; now += 10 * ms { // 1/ki
			ticker.Tick(now, waiting(0))
		}
		if got := refuses(p); got != 0 {
			t.Errorf("after %v of overload and 0.8s of rest it still refuses %.3f", spell, got)
		}
	}
}
