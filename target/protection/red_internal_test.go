package protection

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func newTestRED(t *testing.T, change func(*redKnobs)) *red {
	t.Helper()
	k := &redKnobs{Weight: 0.002, Min: 5, Max: 15, MaxP: 0.1}
	if change != nil {
		change(k)
	}
	p, err := newRED(Setup{Workers: 10, Service: 20 * time.Millisecond, Rand: rand.New(rand.NewPCG(1, 2))}, k)
	if err != nil {
		t.Fatal(err)
	}
	return p.(*red)
}

func TestREDShare(t *testing.T) {
	for _, tt := range []struct {
		average, want float64
		gentle        bool
	}{
		{0, 0, false},
		{4, 0, false},
		{5, 0, false},
		{10, 0.05, false},
		{14.9, 0.099, false},
		{15, 1, false},
		{100, 1, false},
		{14.9, 0.099, true},
		{15, 0.1, true},
		{22.5, 0.55, true},
		{30, 1, true},
		{100, 1, true},
	} {
		p := newTestRED(t, func(k *redKnobs) { k.Gentle = tt.gentle })
		p.average = tt.average
		if got := p.share(); math.Abs(got-tt.want) > 1e-9 {
			t.Errorf("average %v, gentle %v: share %v, want %v", tt.average, tt.gentle, got, tt.want)
		}
	}
}

func TestREDSpacing(t *testing.T) {
	for count, want := range map[int]float64{0: 0.05, 10: 0.1, 18: 0.5, 19: 1, 20: 1, 1000: 1} {
		if got := spaced(0.05, count); math.Abs(got-want) > 1e-9 {
			t.Errorf("after %d let in: %v, want %v", count, got, want)
		}
	}
}

func TestREDAverage(t *testing.T) {
	p := newTestRED(t, nil)
	ask := func(now time.Duration, waiting int) Reason {
		return p.Admit(now, &Request{}, Load{Waiting: waiting})
	}
	for range 10 {
		ask(0, 20)
	}
	if math.Abs(p.average-0.39642) > 5e-6 {
		t.Errorf("after ten looks at a queue of 20: %.5f, want 0.39642", p.average)
	}

	// The queue runs empty at 1 s: a second without asking is 500 looks, as one
	// request takes 10 workers 2 ms.
	p.average = 10
	p.Pick(time.Second, &Request{}, Load{})
	ask(2*time.Second, 0)
	if want := 10 * math.Pow(0.998, 500); math.Abs(p.average-want) > 1e-9 {
		t.Errorf("after a second of rest: %v, want %v", p.average, want)
	}
	before := p.average
	ask(2*time.Second, 0)
	if want := before * 0.998; math.Abs(p.average-want) > 1e-9 {
		t.Errorf("another look at once: %v, want %v: one look, and no rest", p.average, want)
	}

	// So it is when what waited last was swept.
	p.average = 10
	p.Leave(3*time.Second, &Request{}, End{Outcome: Dropped})
	p.Leave(4*time.Second, &Request{}, End{Outcome: Served}) // a worker, not the queue
	ask(4*time.Second, 0)
	if want := 10 * math.Pow(0.998, 500); math.Abs(p.average-want) > 1e-9 {
		t.Errorf("a second after a sweep: %v, want %v", p.average, want)
	}
}

// TestREDSpacesRefusals holds that at a constant average the gaps between refusals
// are uniform, from 1 to 1/share-1 requests as the paper counts them, and not geometric.
func TestREDSpacesRefusals(t *testing.T) {
	p := newTestRED(t, func(k *redKnobs) { k.Weight = 1 })
	var gaps []int // the share at a queue of 10 is 1/20
	gap := 0
	for range 100_000 {
		gap++
		if p.Admit(0, &Request{}, Load{Waiting: 10}) != "" {
			gaps = append(gaps, gap)
			gap = 0
		}
	}
	longest, sum, squares := 0, 0.0, 0.0
	for _, g := range gaps[1:] {
		longest = max(longest, g)
		sum += float64(g)
		squares += float64(g) * float64(g)
	}
	n := float64(len(gaps) - 1)
	mean, sd := sum/n, math.Sqrt(squares/n-sum/n*sum/n)
	// Uniform on 1 to 19: mean 10, deviation 5.48; geometric: 20 and 19.5.
	if longest != 19 || math.Abs(mean-10) > 0.25 || math.Abs(sd-5.48) > 0.15 {
		t.Errorf("gaps: longest %d, mean %.2f, deviation %.2f; want 19, 10, 5.48", longest, mean, sd)
	}
}

func TestREDSparesProtected(t *testing.T) {
	p := newTestRED(t, func(k *redKnobs) { k.Weight = 1 })
	for range 1000 {
		if p.Admit(0, &Request{Protected: true}, Load{Waiting: 1000}) != "" {
			t.Fatal("a protected request was refused")
		}
	}
	if p.Admit(0, &Request{}, Load{Waiting: 1000}) != ReasonRED {
		t.Error("another was let in, with an average of 1000")
	}
}
