package protection_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"knee/target/protection"
)

// lets returns how many of n requests at now are let in.
func lets(p protection.Protection, now time.Duration, n int) (in int) {
	for range n {
		if p.Admit(now, &protection.Request{}, protection.Load{}) == "" {
			in++
		}
	}
	return in
}

func TestSlowStartShare(t *testing.T) {
	const began = time.Minute
	for _, tt := range []struct {
		at    time.Duration
		least float64
		want  int // of 1000
	}{
		{0, 0, 0},
		{3 * time.Second, 0, 100},
		{15 * time.Second, 0, 500},
		{30*time.Second - 1, 0, 999},
		{30 * time.Second, 0, 1000},
		{time.Hour, 0, 1000},
		{0, 0.25, 250},
		{3 * time.Second, 0.25, 250},
		{15 * time.Second, 0.25, 500},
		{0, 1, 1000},
	} {
		p := must(t, "slow_start", map[string]any{"min_share": tt.least, "idle": time.Duration(0)})
		p.Admit(began, &protection.Request{}, protection.Load{}) // which is when it begins
		if got := lets(p, began+tt.at, 1000); got < tt.want-1 || got > tt.want+1 {
			t.Errorf("%v after the first request, at least %v: %d of 1000, want %d", tt.at, tt.least, got, tt.want)
		}
	}
}

// TestSlowStartIsEven holds that what is let in is spread evenly: half is every other.
func TestSlowStartIsEven(t *testing.T) {
	p := must(t, "slow_start", nil)
	lets(p, 0, 1)
	was := lets(p, 15*time.Second, 1)
	for range 100 {
		got := lets(p, 15*time.Second, 1)
		if got == was {
			t.Fatal("two in a row were treated alike at a share of a half")
		}
		was = got
	}
}

func TestSlowStartAgain(t *testing.T) {
	const second = time.Second
	served := protection.End{Served: ms}
	for _, tt := range []struct {
		name string
		idle time.Duration
		act  func(p protection.Protection)
		want int // of 1000 at 70s
	}{
		{"served all the time", 10 * second, func(p protection.Protection) {
			for at := 40 * second; at < 70*second; at += second {
				lets(p, at, 1)
				p.Leave(at+ms, nil, served)
			}
		}, 1000},
		{"nobody came", 10 * second, func(p protection.Protection) {
			lets(p, 40*second, 1)
			p.Leave(40*second+ms, nil, served)
		}, 1000},
		{"none served for just less than idle", 10 * second, func(p protection.Protection) {
			lets(p, 60*second+1, 1)
		}, 1000},
		{"none served for just idle", 10 * second, func(p protection.Protection) {
			lets(p, 60*second, 1)
		}, 0},
		{"none served for idle", 10 * second, func(p protection.Protection) {
			lets(p, 40*second, 1)
			lets(p, 55*second, 1) // starts again
			lets(p, 58*second, 5) // too few for a whole, so this is its own doing
		}, 500},
		{"dropped and failed are not served", 10 * second, func(p protection.Protection) {
			lets(p, 40*second, 2)
			p.Leave(41*second, nil, protection.End{Outcome: protection.Failed, Served: ms})
			p.Leave(41*second, nil, protection.End{Outcome: protection.Dropped})
			lets(p, 55*second, 1)
		}, 500},
		{"never", 0, func(p protection.Protection) {
			lets(p, 40*second, 1)
			lets(p, 55*second, 1)
		}, 1000},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := must(t, "slow_start", map[string]any{"idle": tt.idle})
			lets(p, 0, 1)
			tt.act(p)
			if got := lets(p, 70*second, 1000); got < tt.want-1 || got > tt.want+1 {
				t.Errorf("%d of 1000 let in after, want %d", got, tt.want)
			}
		})
	}
}

// TestSlowStartOfFew holds that however seldom requests come, its refusals are no
// gap by which it starts again, so that it comes to an end.
func TestSlowStartOfFew(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		every := time.Duration(rapid.Int64Range(int64(10*ms), int64(20*time.Second)).Draw(t, "every"))
		i, err := protection.Registry.Lookup("slow_start")
		if err != nil {
			t.Fatal(err)
		}
		p, err := i.New(protection.Setup{}, i.Knobs())
		if err != nil {
			t.Fatal(err)
		}
		for now := time.Duration(0); now <= 30*time.Second+2*every; now += every {
			in := lets(p, now, 1)
			if in == 1 {
				p.Leave(now+5*ms, nil, protection.End{Served: 5 * ms})
			} else if now >= 30*time.Second {
				t.Fatalf("one each %v: refused at %v", every, now)
			}
		}
	})
}

func TestSlowStartKnobs(t *testing.T) {
	for knob, value := range map[string]any{"ramp": time.Duration(0), "min_share": 1.1} {
		_, err := build(t, "slow_start", map[string]any{knob: value})
		named(t, err, knob)
	}
}
