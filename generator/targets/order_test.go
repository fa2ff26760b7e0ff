package targets

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestOrder(t *testing.T) {
	for name, test := range map[string]struct {
		weights, counts []int
		want            string
	}{
		"round robin":            {[]int{1, 1, 1}, []int{1, 1, 1}, "0 1 2 0 1 2"},
		"equal weights":          {[]int{7, 7}, []int{1, 1}, "0 1 0 1"},
		"in between":             {[]int{3, 1}, []int{1, 1}, "0 0 1 0 0 0 1 0"},
		"as nginx has it, about": {[]int{5, 1, 1}, []int{1, 1, 1}, "0 0 0 1 2 0 0 0"},
		"common divisor":         {[]int{4, 2}, []int{1, 1}, "0 1 0 0 1 0"},
		"variants":               {[]int{1}, []int{3}, "0 1 2 0"},
		"variants of one of two": {[]int{1, 1}, []int{3, 1}, "0 3 1 3 2 3 0 3"},
		"variants by weight":     {[]int{2, 1}, []int{3, 2}, "0 3 1 2 4 0 1 3 2"},
	} {
		o, err := newOrder(test.weights, test.counts)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for seq := range strings.Count(test.want, " ") + 1 {
			got = append(got, fmt.Sprint(o.At(uint64(seq))))
		}
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s: %v: want %s", name, got, test.want)
		}
	}
}

// Over a cycle each target is sent as often as its weight says, and within one it
// is never far from its share; each variant of a target comes before any comes
// again.
func TestOrderIsFair(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		n := rapid.IntRange(1, 6).Draw(rt, "targets")
		weights := rapid.SliceOfN(rapid.IntRange(1, 20), n, n).Draw(rt, "weights")
		counts := rapid.SliceOfN(rapid.IntRange(1, 5), n, n).Draw(rt, "variants")
		o, err := newOrder(weights, counts)
		if err != nil {
			rt.Fatal(err)
		}
		total := 0
		for _, w := range weights {
			total += w
		}
		sent := make([]int, n)
		next := make([]int, n)
		for seq := range 3 * total {
			at := o.At(uint64(seq))
			target := 0
			for at >= counts[target] {
				at -= counts[target]
				target++
			}
			if at != next[target] {
				rt.Fatalf("arrival %d: variant %d of target %d: want %d", seq, at, target, next[target])
			}
			next[target] = (next[target] + 1) % counts[target]
			sent[target]++
			share := float64(seq+1) * float64(weights[target]) / float64(total)
			if d := float64(sent[target]) - share; d > float64(n)/2+1 || d < -float64(n)/2-1 {
				rt.Fatalf("after %d arrivals target %d was sent %d times: want about %.1f", seq+1, target, sent[target], share)
			}
		}
		for i, w := range weights {
			if sent[i] != 3*w {
				rt.Fatalf("target %d was sent %d times in three cycles: want %d", i, sent[i], 3*w)
			}
		}
	})
}

func TestOrderIsBounded(t *testing.T) {
	weights := make([]int, 2000)
	counts := make([]int, len(weights))
	for i := range weights {
		weights[i], counts[i] = MaxWeight-i%2, 1
	}
	const want = "the weights of the targets add up to 1999000 after division by what they have in common: want at most 1048576"
	if _, err := newOrder(weights, counts); err == nil || err.Error() != want {
		t.Errorf("error %v: want %s", err, want)
	}
}

func TestOrderAllocatesNothing(t *testing.T) {
	o, err := newOrder([]int{3, 1}, []int{2, 1})
	if err != nil {
		t.Fatal(err)
	}
	seq := uint64(0)
	if n := testing.AllocsPerRun(100, func() { o.At(seq); seq++ }); n != 0 {
		t.Errorf("%v allocations: want none", n)
	}
}
