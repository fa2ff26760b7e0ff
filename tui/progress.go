package tui

import (
	"fmt"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
)

// Progress is the view of a run that goes on: a bar, the load under test and
// the goodput so far. It is a bubbletea model; feed it Snapshots as messages.
type Progress struct {
	snapshot    Snapshot
	width       int // columns
	interrupt   func()
	interrupted bool
	over        bool
}

// NewProgress returns a Progress for 80 columns, until it is told otherwise.
// interrupt is called, on a goroutine of its own, each time that the user asks
// to stop: the first stops the load, what a second does is up to the run.
func NewProgress(interrupt func()) Progress {
	return Progress{width: 80, interrupt: interrupt}
}

// over is the message that no more snapshots come.
type over struct{}

// Init implements tea.Model.
func (p Progress) Init() tea.Cmd { return nil }

// Update implements tea.Model.
func (p Progress) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case Snapshot:
		p.snapshot = msg
	case tea.WindowSizeMsg:
		if msg.Width > 0 {
			p.width = msg.Width
		}
	case tea.KeyMsg:
		if key := msg.String(); key == "q" || key == "ctrl+c" {
			return p.stop()
		}
	case over:
		p.over = true
		return p, tea.Quit
	}
	return p, nil
}

// stop passes the wish on.
func (p Progress) stop() (tea.Model, tea.Cmd) {
	p.interrupted = true
	return p, func() tea.Msg {
		p.interrupt()
		return nil
	}
}

// View implements tea.Model. After the run it is empty, so that nothing but the
// report stays on the screen.
func (p Progress) View() string {
	if p.over {
		return ""
	}
	s := p.snapshot
	lines := []string{p.title(), p.bar(), underTest(s)}
	if curve := sparkline(s.Points, p.width-len(sparkLabel)); curve != "" {
		lines = append(lines, sparkLabel+curve)
	}
	if s.Note != "" {
		lines = append(lines, s.Note)
	}
	for i, line := range lines {
		lines[i] = cut(line, p.width)
	}
	return strings.Join(lines, "\n") + "\n"
}

const sparkLabel = "goodput by load  "

func (p Progress) title() string {
	stage := p.snapshot.Stage
	if stage == "" {
		stage = "starting"
	}
	if p.interrupted {
		return stage + "  (stopping)"
	}
	return stage + "  (q stops)"
}

// bar returns the bar with the time left beside it.
func (p Progress) bar() string {
	share, known := p.snapshot.share()
	if !known {
		return clock(p.snapshot.Done) + " gone"
	}
	text := fmt.Sprintf(" %3.0f%%  %s left", 100*share, clock(p.snapshot.Total-p.snapshot.Done))
	width := max(p.width-len(text)-len("[]"), 0)
	full := int(share * float64(width))
	return "[" + strings.Repeat("#", full) + strings.Repeat("-", width-full) + "]" + text
}

// underTest describes the load that is offered.
func underTest(s Snapshot) string {
	if !(s.Load > 0) {
		return "no load"
	}
	load := "load " + rate(s.Load) + "/s"
	if s.LoadX > 0 {
		load += fmt.Sprintf(" (%.2fx)", s.LoadX)
	}
	return load + "  goodput " + rate(s.Goodput) + "/s"
}

// cut shortens a line to width columns.
func cut(line string, width int) string {
	if r := []rune(line); len(r) > width {
		return string(r[:max(width, 0)])
	}
	return line
}
