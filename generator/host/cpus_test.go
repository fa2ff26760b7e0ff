package host

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func TestCPUsString(t *testing.T) {
	for want, c := range map[string]CPUs{
		"": nil, "0": {0}, "0-2": {0, 1, 2}, "0,2": {0, 2}, "1-3,5,7-8": {1, 2, 3, 5, 7, 8},
	} {
		if got := c.String(); got != want {
			t.Errorf("%v: %q, want %q", []int(c), got, want)
		}
	}
}

func TestCPUsAreReadAsWritten(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := CPUs(rapid.SliceOfNDistinct(rapid.IntRange(0, 130), 1, 40, rapid.ID[int]).Draw(t, "cpus"))
		slices.Sort(want)
		got, err := parseCPUs(want.String() + "\n")
		if err != nil || !slices.Equal(got, want) {
			t.Fatalf("%q: %v, %v; want %v", want.String(), got, err, want)
		}
	})
}

func TestParseCPUsRefuses(t *testing.T) {
	for _, text := range []string{"", "x", "1,"} {
		if c, err := parseCPUs(text); err == nil {
			t.Errorf("%q: %v, want an error", text, c)
		}
	}
}

func TestSplit(t *testing.T) {
	for name, c := range map[string]struct {
		cores             []CPUs
		generator, server string
	}{
		"one CPU":               {[]CPUs{{3}}, "", ""},
		"no CPU":                {nil, "", ""},
		"two cores":             {[]CPUs{{0}, {1}}, "1", "0"},
		"one core, two threads": {[]CPUs{{0, 1}}, "1", "0"},
		"three":                 {[]CPUs{{0}, {1}, {2}}, "2", "0-1"},
		"four":                  {[]CPUs{{0}, {1}, {2}, {3}}, "2-3", "0-1"},
		"siblings apart":        {[]CPUs{{0, 2}, {1, 3}}, "1,3", "0,2"},
		"many":                  {alone(CPUs{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}), "8-11", "0-7"},
	} {
		generator, server, ok := Split(c.cores)
		if generator.String() != c.generator || server.String() != c.server || ok != (c.server != "") {
			t.Errorf("%s: %q, %q, %v; want %q, %q", name, generator, server, ok, c.generator, c.server)
		}
	}
}

// However many CPUs there are, each is of one side, and both sides have some.
func TestSplitLosesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var cores []CPUs
		var all CPUs
		for range rapid.IntRange(2, 40).Draw(t, "cores") {
			var core CPUs
			for range rapid.IntRange(1, 2).Draw(t, "threads") {
				core = append(core, len(all))
				all = append(all, len(all))
			}
			cores = append(cores, core)
		}
		generator, server, ok := Split(cores)
		both := slices.Concat(server, generator)
		slices.Sort(both)
		if !ok || len(generator) == 0 || len(server) == 0 || !slices.Equal(both, all) {
			t.Fatalf("%v and %v of %v", generator, server, all)
		}
	})
}
