package cli

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"knee/generator/record"
	"knee/target/server"
)

// reconcile compares what the callers counted with what a built-in server
// counted itself.
func (s *session) reconcile() {
	if s.counts == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	counted, err := s.counts(ctx)
	if err != nil {
		s.meta.Warnings = append(s.meta.Warnings, fmt.Sprintf("the server's counts could not be read: %v", err))
		return
	}
	s.meta.Reconciled = true
	s.meta.Differences = differences(s.series.Total(), counted)
}

// differences says where the counts of callers and server contradict each
// other. A caller that gave up, or whose connection failed, does not know what
// the server made of its request: each such one allows a difference of one. So
// does each attempt beyond the first of an original, which counts by its last.
func differences(callers record.Tally, own server.Counts) []string {
	unknown := callers.Timeout + callers.Failed + callers.Unfinished + callers.Attempts - callers.Sent
	var found []string
	compare := func(what string, callers, own uint64) {
		if own < callers || own > callers+unknown {
			found = append(found, fmt.Sprintf("%s: callers counted %d, the server %d, and %d callers do not know", what, callers, own, unknown))
		}
	}
	if own.Arrived > callers.Attempts || own.Arrived+unknown < callers.Attempts {
		found = append(found, fmt.Sprintf("arrived: callers sent %d, the server saw %d, and %d callers do not know", callers.Attempts, own.Arrived, unknown))
	}
	compare("served", callers.Good+callers.Late, own.Served)
	refused := map[string]uint64{}
	for _, by := range []map[string]uint64{own.Refused, own.Dropped} {
		for reason, n := range by {
			refused[reason] += n
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(union(refused, callers.RejectedBy))) {
		compare("rejected with reason "+reason, callers.RejectedBy[reason], refused[reason])
	}
	return found
}

// union returns the keys of a and b.
func union(a, b map[string]uint64) map[string]struct{} {
	keys := map[string]struct{}{}
	for _, m := range []map[string]uint64{a, b} {
		for k := range m {
			keys[k] = struct{}{}
		}
	}
	return keys
}
