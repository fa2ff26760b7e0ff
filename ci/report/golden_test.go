package report

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// golden compares got with testdata/name, or writes it there with -update.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v (run with -update to write it)", err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(string(got), "\n")); diff != "" {
		t.Errorf("%s differs (-want +got, rewrite with -update):\n%s", path, diff)
	}
}

func TestTextGolden(t *testing.T) {
	for name, r := range results() {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			if err := Text(&b, r, Options{Width: 80}); err != nil {
				t.Fatal(err)
			}
			golden(t, name+".txt.golden", b.Bytes())
		})
	}
}

func TestTextGoldenAtOtherWidthsAndInColour(t *testing.T) {
	for name, o := range map[string]Options{
		"collapse-60": {Width: 60}, "collapse-120": {Width: 120}, "collapse-color": {Width: 80, Color: true},
	} {
		var b bytes.Buffer
		if err := Text(&b, results()["collapse"], o); err != nil {
			t.Fatal(err)
		}
		golden(t, name+".txt.golden", b.Bytes())
	}
}

func TestJSONGolden(t *testing.T) {
	for _, name := range []string{"collapse", "empty"} {
		var b bytes.Buffer
		if err := JSON(&b, results()[name]); err != nil {
			t.Fatal(err)
		}
		golden(t, name+".json.golden", b.Bytes())
	}
}

var errBroken = errors.New("broken pipe")

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errBroken }

var ansi = regexp.MustCompile("\x1b\\[[0-9;]*m")
