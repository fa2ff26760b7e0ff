package cli

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/google/pprof/profile"

	"knee/analysis"
)

// A profiled is a CPU profile of the server and what it did meanwhile, per second.
type profiled struct {
	data           []byte
	good, rejected float64
}

// mostHot is how many functions are told.
const mostHot = 6

// hottest returns the functions that rejections spend the most CPU in: what they
// took of each second while the server rejected, without what its successes take,
// of which the profile of a server that serves knows.
func hottest(serving, rejecting profiled) ([]analysis.Hot, error) {
	if serving.good == 0 || rejecting.rejected == 0 {
		return nil, fmt.Errorf("%.0f successes per second while it served and %.0f rejections while it rejected: want some of both", serving.good, rejecting.rejected)
	}
	calm, err := perSecond(serving.data)
	if err != nil {
		return nil, err
	}
	busy, err := perSecond(rejecting.data)
	if err != nil {
		return nil, err
	}
	var hot []analysis.Hot
	for _, name := range slices.Sorted(maps.Keys(busy)) {
		spent := busy[name] - calm[name]*rejecting.good/serving.good
		if spent > 0 {
			hot = append(hot, analysis.Hot{Function: name, PerRejectUS: 1e6 * spent / rejecting.rejected})
		}
	}
	slices.SortStableFunc(hot, func(a, b analysis.Hot) int { return cmp.Compare(b.PerRejectUS, a.PerRejectUS) })
	return hot[:min(mostHot, len(hot))], nil
}

// perSecond returns the CPU that each function itself took, in seconds per second.
func perSecond(data []byte) (map[string]float64, error) {
	p, err := profile.Parse(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("reading a CPU profile: %w", err)
	}
	at := slices.IndexFunc(p.SampleType, func(t *profile.ValueType) bool { return t.Type == "cpu" && t.Unit == "nanoseconds" })
	if at < 0 || p.DurationNanos <= 0 {
		return nil, fmt.Errorf("reading a CPU profile: there is no CPU in it")
	}
	spent := map[string]float64{}
	for _, s := range p.Sample {
		if serves(s) {
			continue
		}
		spent[spender(s)] += float64(s.Value[at]) / float64(p.DurationNanos)
	}
	return spent, nil
}

// serves reports whether a sample is of the work that the built-in server does for a
// success. It burns exactly what it is told to: no part of it is of a rejection.
func serves(s *profile.Sample) bool {
	const worker = "knee/target/serve.(*Server).await"
	for _, location := range s.Location {
		for _, line := range location.Line {
			if line.Function != nil && line.Function.Name == worker {
				return true
			}
		}
	}
	return false
}

// spender names the function of a sample. What the kernel did is told by who asked
// for it: every call of it is the same function.
func spender(s *profile.Sample) string {
	inKernel := false
	for _, location := range s.Location {
		for _, line := range location.Line {
			if line.Function == nil {
				continue
			}
			name := line.Function.Name
			if isCall(name) {
				inKernel = true
				continue
			}
			if inKernel {
				return name + " (system call)"
			}
			return name
		}
	}
	return "unknown"
}

// isCall reports whether a function only hands over to the kernel.
func isCall(name string) bool {
	for _, prefix := range []string{"internal/runtime/syscall", "runtime/internal/syscall", "syscall.", "internal/poll.", "golang.org/x/sys/unix.", "runtime.futex", "runtime.epoll", "runtime.write"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}
