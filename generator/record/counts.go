package record

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Add adds d to c.
func (c *Counts) Add(d Counts) {
	c.Planned += d.Planned
	c.Unsent += d.Unsent
	c.Withheld += d.Withheld
	c.Sent += d.Sent
	c.Good += d.Good
	c.Degraded += d.Degraded
	c.Late += d.Late
	c.Rejected += d.Rejected
	c.Timeout += d.Timeout
	c.Failed += d.Failed
	c.Unfinished += d.Unfinished
	c.Attempts += d.Attempts
	c.Hedges += d.Hedges
}

// Open returns how many originals have come and not ended; 0 when more have
// ended than came, which Conserved reports.
func (c Counts) Open() uint64 { return less(c.Planned, c.Ended()) }

// held returns how many originals have come that were neither sent nor given up.
func (c Counts) held() uint64 { return less(c.Planned, c.Sent+c.Withheld+c.Unsent) }

// less returns a-b, at least 0.
func less(a, b uint64) uint64 {
	if a < b {
		return 0
	}
	return a - b
}

// Reasons returns the reasons of the originals that ended as k; nil when there
// were none, or when endings of that kind have no reasons.
func (t *Tally) Reasons(k Kind) map[string]uint64 {
	if by := t.by(k); by != nil {
		return *by
	}
	return nil
}

func (t *Tally) by(k Kind) *map[string]uint64 {
	switch k {
	case Rejected:
		return &t.RejectedBy
	case Failed:
		return &t.FailedBy
	case Withheld:
		return &t.WithheldBy
	case Unsent:
		return &t.UnsentBy
	default:
		return nil
	}
}

// count adds n originals that ended as k for reason.
func (t *Tally) count(k Kind, reason string, n uint64) {
	by := t.by(k)
	if by == nil {
		return
	}
	if *by == nil {
		*by = map[string]uint64{}
	}
	(*by)[reason] += n
}

// Add adds u to t.
func (t *Tally) Add(u Tally) {
	t.Counts.Add(u.Counts)
	for k := range kinds {
		for reason, n := range u.Reasons(k) {
			t.count(k, reason, n)
		}
	}
}

// Clone returns a copy that shares nothing with t.
func (t Tally) Clone() Tally {
	t.RejectedBy = maps.Clone(t.RejectedBy)
	t.FailedBy = maps.Clone(t.FailedBy)
	t.WithheldBy = maps.Clone(t.WithheldBy)
	t.UnsentBy = maps.Clone(t.UnsentBy)
	return t
}

// Conserved reports what does not add up in a tally of a run that is over. Every
// original ended once, was either sent, withheld or unsent, and the reasons of a
// kind add up to its count. The error joins one line for each difference.
func (t Tally) Conserved() error {
	var errs []error
	if t.Planned != t.Ended() {
		errs = append(errs, fmt.Errorf("planned is %d, endings are %d (good %d, late %d, rejected %d, timeout %d, failed %d, withheld %d, unsent %d, unfinished %d): %s",
			t.Planned, t.Ended(), t.Good, t.Late, t.Rejected, t.Timeout, t.Failed, t.Withheld, t.Unsent, t.Unfinished, difference(t.Planned, t.Ended())))
	}
	if begun := t.Sent + t.Withheld + t.Unsent; t.Planned != begun {
		errs = append(errs, fmt.Errorf("planned is %d, sent + withheld + unsent is %d + %d + %d = %d: %s",
			t.Planned, t.Sent, t.Withheld, t.Unsent, begun, difference(t.Planned, begun)))
	}
	if t.Attempts < t.Sent {
		errs = append(errs, fmt.Errorf("sent is %d, attempts are %d: want at least one attempt for each original sent", t.Sent, t.Attempts))
	}
	if t.Hedges > t.Attempts {
		errs = append(errs, fmt.Errorf("hedges are %d, attempts are %d: hedges are among those", t.Hedges, t.Attempts))
	}
	if t.Degraded > t.Good {
		errs = append(errs, fmt.Errorf("degraded is %d, good is %d: degraded answers are among the good ones", t.Degraded, t.Good))
	}
	for k := range kinds {
		by := t.by(k)
		if by == nil {
			continue
		}
		var sum uint64
		for _, reason := range slices.Sorted(maps.Keys(*by)) {
			sum += (*by)[reason]
		}
		if n := *t.of(k); n != sum {
			errs = append(errs, fmt.Errorf("%s is %d, its reasons add up to %d: %s", k, n, sum, difference(n, sum)))
		}
	}
	return errors.Join(errs...)
}

// difference says by how much the second number is off the first.
func difference(want, got uint64) string {
	if got > want {
		return fmt.Sprintf("%d too many", got-want)
	}
	return fmt.Sprintf("%d missing", want-got)
}
