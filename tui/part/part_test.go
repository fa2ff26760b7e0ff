package part

import (
	"flag"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the golden files")

// golden compares what was drawn with testdata/NAME.txt.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		if err := os.WriteFile(path, []byte(got+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got+"\n" != string(want) {
		t.Errorf("%s is\n%s\nwant\n%s", name, got, want)
	}
}

// drawn renders what draw puts on a grid.
func drawn(width, height int, draw func(v View)) string {
	g := New(width, height)
	draw(g.All())
	return g.Render(nil)
}

func wave(n int) []float64 {
	values := make([]float64, n)
	for i := range values {
		values[i] = 250 + 240*math.Sin(float64(i)/9)
	}
	values[n/2] = math.NaN() // nobody looked
	return values
}

var ladder = map[string]Glyphs{"braille": Braille, "blocks": Blocks, "ascii": ASCII}

func TestLines(t *testing.T) {
	flat := make([]float64, 60)
	for i := range flat {
		flat[i] = 400
	}
	for name, g := range ladder {
		golden(t, "lines-"+name, drawn(60, 10, func(v View) {
			Lines(v, g, Scale{}, []Curve{{Values: flat, Role: Dim, Mark: '.'}, {Values: wave(60), Role: Good, Mark: 'o'}}, Mark{At: 20, Rune: 'F', Role: Bad})
		}))
	}
}

func TestStack(t *testing.T) {
	good, late := make([]float64, 30), make([]float64, 30)
	for i := range good {
		good[i], late[i] = 300, float64(10*i)
	}
	for name, g := range ladder {
		golden(t, "stack-"+name, drawn(40, 8, func(v View) {
			Stack(v, g, Scale{}, []Curve{{Values: good, Role: Good, Mark: '#'}, {Values: late, Role: Warn, Mark: 'l'}})
		}))
	}
}

func TestMeterAndPoints(t *testing.T) {
	golden(t, "meter", drawn(24, 8, func(v View) {
		for i, share := range []float64{0, 0.25, 0.5, 1, 2, math.NaN()} {
			Meter(v.Sub(0, i, 10, 1), Braille, share, Bad)
			Meter(v.Sub(12, i, 10, 1), ASCII, share, Bad)
		}
	}))
	golden(t, "points", drawn(20, 5, func(v View) {
		Points(v, [2]float64{0, 10}, [2]float64{0, 10}, [][2]float64{{0, 0}, {5, 5}, {10, 10}, {20, 5}, {math.NaN(), 1}}, 'o', Good)
	}))
}

// The newest values are the ones that are seen.
func TestTheNewestAreSeen(t *testing.T) {
	long := append(make([]float64, 1000), 9, 9, 9, 9, 9, 9)
	got := drawn(16, 4, func(v View) { Lines(v, ASCII, Scale{High: 10}, []Curve{{Values: long, Mark: 'o'}}) })
	if last := strings.Split(got, "\n")[0]; !strings.HasSuffix(last, "oooooo") {
		t.Errorf("the last six values are not at the right end:\n%s", got)
	}
}

func TestTextIsCut(t *testing.T) {
	got := drawn(10, 3, func(v View) {
		v.Text(0, 0, "a long line of text", Plain)
		v.Sub(2, 1, 5, 1).Text(0, 0, "exact", Plain)
		v.Right(10, 2, "right", Plain)
	})
	if want := "a long li…\n  exact\n     right"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// A run of cells of one role is painted once; blanks belong to any.
func TestRolesArePaintedInRuns(t *testing.T) {
	g := New(20, 1)
	v := g.All()
	x := v.Text(0, 0, "ok", Good)
	x = v.Text(x+1, 0, "then", Good)
	v.Text(x, 0, "bad", Bad)
	got := g.Render(func(r Role, s string) string { return fmt.Sprintf("<%d:%s>", r, s) })
	if want := fmt.Sprintf("<%d:ok then><%d:bad>", Good, Bad); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// Whatever is drawn wherever, the grid keeps its size, and every cell takes one column.
func TestNothingLeavesTheGrid(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width, height := rapid.IntRange(0, 50).Draw(t, "width"), rapid.IntRange(0, 12).Draw(t, "height")
		g := New(width, height)
		v := g.All().Sub(rapid.IntRange(-5, 60).Draw(t, "x"), rapid.IntRange(-5, 20).Draw(t, "y"), rapid.IntRange(-5, 60).Draw(t, "w"), rapid.IntRange(-5, 20).Draw(t, "h"))
		glyphs := rapid.SampledFrom([]Glyphs{Braille, Blocks, ASCII}).Draw(t, "glyphs")
		values := rapid.SliceOf(rapid.Float64()).Draw(t, "values")
		curve := Curve{Values: values, Role: Good, Mark: 'o'}
		v.Text(rapid.IntRange(-3, 60).Draw(t, "at"), rapid.IntRange(-3, 15).Draw(t, "line"), rapid.String().Draw(t, "text"), Warn)
		Lines(v, glyphs, Scale{}, []Curve{curve, curve}, Mark{At: rapid.IntRange(-5, 100).Draw(t, "mark"), Rune: 'x'})
		Stack(v, glyphs, Scale{}, []Curve{curve, curve})
		Meter(v, glyphs, rapid.Float64().Draw(t, "share"), Bad)
		lines := strings.Split(g.Render(nil), "\n")
		if len(lines) != max(height, 1) {
			t.Errorf("%d lines, want %d", len(lines), height)
		}
		for _, line := range lines {
			if n := utf8.RuneCountInString(line); n > width {
				t.Errorf("%q has %d cells, want at most %d", line, n, width)
			}
		}
	})
}

func BenchmarkScreen(b *testing.B) {
	g := New(120, 40)
	values := wave(240)
	for b.Loop() {
		g.Clear()
		v := g.All()
		for i := range 4 {
			Lines(v.Sub(i%2*60, i/2*20, 60, 20), Braille, Scale{}, []Curve{{Values: values, Role: Good}, {Values: values, Role: Bad}})
		}
		g.Render(func(_ Role, s string) string { return s })
	}
}
