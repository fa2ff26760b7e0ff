package tui

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Plain reports progress as lines, for logs and pipes: one when the stage or the
// note changes, and one at most Every while nothing does.
type Plain struct {
	w       io.Writer
	every   time.Duration
	started bool
	last    time.Duration // of the last line
	stage   string
	note    string
}

// NewPlain returns a Plain that writes to w. every of 0 is 5 s.
func NewPlain(w io.Writer, every time.Duration) *Plain {
	if every <= 0 {
		every = 5 * time.Second
	}
	return &Plain{w: w, every: every}
}

// Update takes the snapshot of the instant now, on any clock that does not go
// back, and returns the error of writing a line.
func (p *Plain) Update(now time.Duration, s Snapshot) error {
	changed := !p.started || s.Stage != p.stage
	noted := s.Note != "" && s.Note != p.note
	if !changed && !noted && now-p.last < p.every {
		return nil
	}
	p.started, p.last, p.stage, p.note = true, now, s.Stage, s.Note
	_, err := fmt.Fprintln(p.w, plainLine(s, noted))
	return err
}

func plainLine(s Snapshot, noted bool) string {
	parts := []string{s.Stage}
	if s.Stage == "" {
		parts[0] = "starting"
	}
	if share, known := s.share(); known {
		parts = append(parts, fmt.Sprintf("%.0f%%, %s left", 100*share, clock(s.Total-s.Done)))
	} else if s.Done > 0 {
		parts = append(parts, clock(s.Done)+" gone")
	}
	if s.Load > 0 {
		parts = append(parts, underTest(s))
	}
	if noted {
		parts = append(parts, s.Note)
	}
	return strings.Join(parts, "  ")
}
