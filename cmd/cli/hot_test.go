package cli

import (
	"bytes"
	"math"
	"testing"

	"github.com/google/pprof/profile"
)

// sampled returns a CPU profile of two seconds in which the stacks, the innermost
// function first, spent so many seconds each.
func sampled(t *testing.T, stacks map[string][]string, seconds map[string]float64) []byte {
	t.Helper()
	p := &profile.Profile{
		SampleType:    []*profile.ValueType{{Type: "samples", Unit: "count"}, {Type: "cpu", Unit: "nanoseconds"}},
		PeriodType:    &profile.ValueType{Type: "cpu", Unit: "nanoseconds"},
		DurationNanos: 2e9,
	}
	functions := map[string]*profile.Location{}
	for name, stack := range stacks {
		s := &profile.Sample{Value: []int64{1, int64(1e9 * seconds[name])}}
		for _, function := range stack {
			if functions[function] == nil {
				f := &profile.Function{ID: uint64(len(functions) + 1), Name: function}
				functions[function] = &profile.Location{ID: f.ID, Line: []profile.Line{{Function: f}}}
				p.Function, p.Location = append(p.Function, f), append(p.Location, functions[function])
			}
			s.Location = append(s.Location, functions[function])
		}
		p.Sample = append(p.Sample, s)
	}
	var out bytes.Buffer
	if err := p.Write(&out); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestHottest(t *testing.T) {
	stacks := map[string][]string{
		"work":  {"work", "main"},
		"write": {"syscall.Syscall", "syscall.write", "internal/poll.(*FD).Write", "answer", "main"},
		"parse": {"parse", "main"},
		"burn":  {"knee/target/serve.spin", "knee/target/serve.burn", "knee/target/serve.(*Server).await", "main"},
	}
	serving := profiled{
		data: sampled(t, stacks, map[string]float64{"work": 1.6, "write": 0.04, "parse": 0.08}), good: 40,
	}
	// A second at the load beyond: 50 successes and 1,000 rejections.
	rejecting := profiled{
		data: sampled(t, stacks, map[string]float64{"work": 2.0, "write": 0.25, "parse": 0.12, "burn": 1}), good: 50, rejected: 1000,
	}
	hot, err := hottest(serving, rejecting)
	if err != nil {
		t.Fatal(err)
	}
	// Of the calls 0.125 s a second, of which 50 successes take 0.025; the work and
	// the rest of the parsing are those of the successes.
	if len(hot) != 2 || hot[0].Function != "answer (system call)" || math.Abs(hot[0].PerRejectUS-100) > 1e-6 ||
		hot[1].Function != "parse" || math.Abs(hot[1].PerRejectUS-10) > 1e-6 {
		t.Errorf("hottest %+v, want 100 µs of answer's system calls and 10 µs of parse", hot)
	}
	for name, c := range map[string][2]profiled{
		"nothing was served":   {{data: serving.data}, rejecting},
		"nothing was rejected": {serving, {data: rejecting.data, good: 1}},
		"no profile":           {serving, {data: []byte("page not found"), good: 1, rejected: 1}},
	} {
		if hot, err := hottest(c[0], c[1]); err == nil {
			t.Errorf("%s: %v and no error", name, hot)
		}
	}
}
