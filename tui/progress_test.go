package tui

import (
	"flag"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".golden")
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run with -update to write it)", err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s differs (-want +got, rewrite with -update):\n%s", path, diff)
	}
}

func midway() Snapshot {
	return Snapshot{
		Stage: "sweeping to 10.2x", Load: 2000, LoadX: 2, Done: 31 * time.Second, Total: 84 * time.Second, Goodput: 987.4,
		Points: []Point{{1500, 990}, {250, 250}, {500, 500}, {1000, 985}, {4000, 120}, {8000, 0}},
	}
}

// feed passes messages to a new model and returns it with the last command.
func feed(t *testing.T, interrupt func(), msgs ...tea.Msg) (tea.Model, tea.Cmd) {
	t.Helper()
	var m tea.Model = NewProgress(interrupt)
	var cmd tea.Cmd
	for _, msg := range msgs {
		m, cmd = m.Update(msg)
	}
	return m, cmd
}

func TestViewGolden(t *testing.T) {
	noted := midway()
	noted.Note = "warning: " + strings.Repeat("the generator was late ", 5)
	for name, msgs := range map[string][]tea.Msg{
		"start":         nil,
		"midway":        {midway()},
		"narrow":        {tea.WindowSizeMsg{Width: 40, Height: 24}, midway()},
		"note":          {noted},
		"unknown-total": {Snapshot{Stage: "finding the capacity", Load: 0.5, Done: 3700 * time.Second}},
		"done":          {Snapshot{Stage: "writing the report", Done: 90 * time.Second, Total: 84 * time.Second}},
		"stopping":      {midway(), tea.KeyMsg{Type: tea.KeyCtrlC}},
	} {
		t.Run(name, func(t *testing.T) {
			m, _ := feed(t, func() {}, msgs...)
			golden(t, name, m.View())
		})
	}
}

func TestViewFitsAnyWidth(t *testing.T) {
	for width := range 130 {
		m, _ := feed(t, func() {}, tea.WindowSizeMsg{Width: width}, midway())
		limit := width
		if width == 0 {
			limit = 80 // no terminal is that narrow: the width is not known
		}
		for line := range strings.Lines(m.View()) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > limit {
				t.Errorf("line of %d columns at width %d: %q", n, width, line)
			}
		}
	}
}

func TestViewOfWhatIsNoNumber(t *testing.T) {
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		m, _ := feed(t, func() {}, Snapshot{Load: v, LoadX: v, Goodput: v, Points: []Point{{v, v}, {1, 1}, {1, v}}}, Snapshot{Load: 1, Goodput: v})
		if view := m.View(); strings.Contains(view, "NaN") || strings.Contains(view, "Inf") {
			t.Errorf("view of %v:\n%s", v, view)
		}
	}
}

func TestKeysInterrupt(t *testing.T) {
	for key, want := range map[string]struct {
		msg   tea.KeyMsg
		calls int
	}{
		"q":      {tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{'q'}}, 1},
		"ctrl+c": {tea.KeyMsg{Type: tea.KeyCtrlC}, 1},
		"x":      {tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{'x'}}, 0},
	} {
		calls := 0
		_, cmd := feed(t, func() { calls++ }, midway(), want.msg)
		if cmd != nil {
			if msg := cmd(); msg != nil {
				t.Errorf("%s: command returned %v, which must not end the view", key, msg)
			}
		}
		if calls != want.calls {
			t.Errorf("%s: interrupted %d times, want %d", key, calls, want.calls)
		}
	}
}

func TestEndOfUpdatesEndsTheView(t *testing.T) {
	m, cmd := feed(t, func() {}, midway(), over{})
	if m.View() != "" || cmd == nil {
		t.Fatalf("view after the end is %q, want none and a command", m.View())
	}
	if _, quits := cmd().(tea.QuitMsg); !quits {
		t.Error("the command does not quit")
	}
}

func TestSparkline(t *testing.T) {
	for name, c := range map[string]struct {
		points []Point
		width  int
		want   string
	}{
		"nothing":         {nil, 10, ""},
		"no room":         {[]Point{{1, 1}}, 0, ""},
		"all zero":        {[]Point{{1, 0}, {2, 0}}, 10, "▁▁"},
		"in order":        {[]Point{{3, 0}, {1, 7}, {2, 14}}, 10, "▅█▁"},
		"only the higher": {[]Point{{1, 1}, {2, 1}, {3, 0}}, 2, "█▁"},
	} {
		if got := sparkline(c.points, c.width); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
