package record

import (
	"maps"
	"time"
)

// A Snapshot is the state of a Series at one instant, for a screen. It shares
// nothing with the Series.
type Snapshot struct {
	At      time.Duration // end of the newest window
	Classes []string
	Steps   []StepState
	Recent  []Counts // by ending, the newest windows, oldest first; the last ends at At

	InFlight int               // originals sent and not ended
	Rejected map[string]uint64 // reasons in the newest step
}

// StepState is what a Snapshot knows of a step.
type StepState struct {
	Info            StepInfo
	Counts          Counts
	Response, Lag   Quantiles
	Reject, Service Quantiles
}

// Snapshot returns the state of s, with at most recent windows of its past.
func (s *Series) Snapshot(recent int) Snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	snap := Snapshot{
		At:      time.Duration(len(s.byEnding)) * Window,
		Classes: s.classes,
		Steps:   make([]StepState, 0, len(s.steps)),
		Recent:  append([]Counts(nil), s.byEnding[max(0, len(s.byEnding)-max(recent, 0)):]...),
	}
	for _, step := range s.steps {
		if step == nil {
			continue
		}
		step.refresh(&s.spare)
		snap.Steps = append(snap.Steps, StepState{
			Info: step.Info, Counts: step.Total.Counts,
			Response: step.Response, Lag: step.Lag, Reject: step.Reject, Service: step.Service,
		})
		snap.Rejected = step.Total.RejectedBy
		c := &step.Total.Counts
		snap.InFlight += int(c.Sent - (c.Good + c.Late + c.Rejected + c.Timeout + c.Failed + c.Unfinished))
	}
	snap.Rejected = maps.Clone(snap.Rejected)
	return snap
}
