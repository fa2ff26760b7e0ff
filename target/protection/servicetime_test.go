package protection

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestWindowsForget(t *testing.T) {
	s := newServiceTime(0.95, time.Second)
	for _, served := range []time.Duration{time.Second, 10 * time.Millisecond} {
		for range 100 {
			s.add(s.opened+windowAge, served)
		}
		if s.estimate != served {
			t.Errorf("after a hundred of %v the estimate is %v", served, s.estimate)
		}
	}
}

func TestBins(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Min(0).Draw(t, "duration"))
		i := binOf(d)
		if i < 0 || i >= bins {
			t.Fatalf("%d falls into bin %d of %d", d, i, bins)
		}
		top := binTop(i)
		if top < d || top-d > d/32 {
			t.Fatalf("the top of the bin of %d is %d, want at most 1/32 more", d, top)
		}
		if binOf(top) != i || top < math.MaxInt64 && binOf(top+1) != i+1 {
			t.Fatalf("%d is not the top of bin %d", top, i)
		}
	})
}
