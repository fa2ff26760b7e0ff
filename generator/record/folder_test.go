package record

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// written writes deltas into the folder of a run and returns its name.
func written(t testing.TB, classes []string, deltas []*Delta) string {
	dir := filepath.Join(t.TempDir(), "run")
	f, err := Create(dir, CreateOptions{Classes: classes, Profile: []byte("name: test\n")})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range deltas {
		f.Write(d)
	}
	f.Event(Event{At: time.Second, Kind: "fault", Text: "slow_service begins", Fields: map[string]string{"factor": "3"}})
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// encoded returns the windows.jsonl of deltas.
func encoded(classes []string, deltas []*Delta) []byte {
	var e hdrEncoder
	text := append(appendJSON(nil, header{Schema, Window, HistWindow, classes}), '\n')
	for _, d := range deltas {
		text = appendDelta(text, d, &e)
	}
	return text
}

// What is read is what was recorded.
func TestFileHoldsTheSeries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := runs().Draw(t, "run")
		deltas := d.play(forever)
		want := show(series(d.classes, deltas))
		s, warnings, err := ReadWindows(bytes.NewReader(encoded(d.classes, deltas)), WindowsFile)
		if err != nil || len(warnings) > 0 {
			t.Fatalf("reading: %v, warnings %q", err, warnings)
		}
		if diff := cmp.Diff(want, show(s), samePublic); diff != "" {
			t.Fatalf("(-recorded +read):\n%s", diff)
		}
	})
}

// A file that is cut anywhere loses the windows after the cut and no more.
func TestFileThatIsCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := runs().Draw(t, "run")
		deltas := d.play(forever)
		whole := encoded(d.classes, deltas)
		head := bytes.IndexByte(whole, '\n') + 1
		cut := whole[:rapid.IntRange(head, len(whole)).Draw(t, "cut")]

		lines := bytes.Count(cut, []byte("\n")) - 1
		want := series(d.classes, deltas[:lines])
		open := want.Total().Open()
		if open > 0 {
			want.MarkUnfinished()
		}
		r := &Run{}
		if err := r.readWindows(bytes.NewReader(cut), "windows.jsonl"); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(show(want), show(r.Series), samePublic); diff != "" {
			t.Fatalf("(-recorded until the cut +read):\n%s", diff)
		}
		if err := r.Series.Total().Conserved(); err != nil {
			t.Fatal(err)
		}
		said := strings.Join(r.Warnings, "\n")
		if short := cut[len(cut)-1] != '\n'; short != strings.Contains(said, "windows.jsonl: the last line is cut short") {
			t.Fatalf("cut short is %v, the warnings are %q", short, said)
		}
		if told := strings.Contains(said, fmt.Sprintf("windows.jsonl: %d originals were open", open)); told != (open > 0) {
			t.Fatalf("%d are open, the warnings are %q", open, said)
		}
	})
}

func example() drawn {
	return drawn{
		classes: []string{"a"},
		steps:   []StepInfo{{Phase: "hold", Duration: time.Second, From: 2, To: 2}},
		fates: []fate{
			{Ending: Ending{Kind: Good, Planned: 1e8, Sent: 1e8, Done: 2e8}, attempts: []time.Duration{1e8}},
			{Ending: Ending{Kind: Rejected, Reason: "a \"quoted\"\nreason", Planned: 6e8, Sent: 6e8, Done: 7e8}, attempts: []time.Duration{6e8}},
		},
	}
}

func TestFolder(t *testing.T) {
	d := example()
	deltas := d.play(forever)
	want := show(series(d.classes, deltas))
	dir := written(t, d.classes, deltas)

	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, show(r.Series), samePublic); diff != "" {
		t.Errorf("series (-recorded +read):\n%s", diff)
	}
	if got := string(r.Profile); got != "name: test\n" {
		t.Errorf("profile is %q", got)
	}
	if diff := cmp.Diff([]Event{{time.Second, "fault", "slow_service begins", map[string]string{"factor": "3"}}}, r.Events); diff != "" {
		t.Errorf("events (-written +read):\n%s", diff)
	}
	if r.Result != nil || len(r.Warnings) > 0 {
		t.Errorf("result is %q, warnings are %q: want none", r.Result, r.Warnings)
	}

	if err := WriteResult(dir, map[string]int{"answer": 42}); err != nil {
		t.Fatal(err)
	}
	if r, err = Open(dir); err != nil {
		t.Fatal(err)
	}
	var result map[string]int
	if err := json.Unmarshal(r.Result, &result); err != nil || result["answer"] != 42 {
		t.Errorf("result is %s (%v)", r.Result, err)
	}
	if names, _ := filepath.Glob(filepath.Join(dir, ".*")); len(names) > 0 {
		t.Errorf("left behind: %q", names)
	}
}

func TestCreate(t *testing.T) {
	o := CreateOptions{Classes: []string{"a"}}
	write := func(t *testing.T, dir string, names ...string) {
		for _, name := range names {
			if err := os.WriteFile(filepath.Join(dir, name), []byte("old"), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Run("replaces a run", func(t *testing.T) {
		dir := t.TempDir()
		write(t, dir, ResultFile, ProfileFile, EventsFile, WindowsFile, "notes.txt")
		f, err := Create(dir, o)
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		r, err := Open(dir)
		if err != nil || r.Result != nil || len(r.Series.Steps()) != 0 {
			t.Errorf("after Create the folder holds %+v (%v), want an empty run", r, err)
		}
		if _, err := os.Stat(filepath.Join(dir, "notes.txt")); err != nil {
			t.Errorf("a file that is not of the run is gone: %v", err)
		}
	})
	t.Run("refuses a directory of something else", func(t *testing.T) {
		dir := t.TempDir()
		write(t, dir, ResultFile, "notes.txt")
		if _, err := Create(dir, o); err == nil || !strings.Contains(err.Error(), "is not empty and holds no windows.jsonl") {
			t.Errorf("error is %v", err)
		}
		if content, _ := os.ReadFile(filepath.Join(dir, ResultFile)); string(content) != "old" {
			t.Error("it was written to")
		}
	})
	t.Run("refuses a file", func(t *testing.T) {
		dir := t.TempDir()
		write(t, dir, "file")
		if _, err := Create(filepath.Join(dir, "file"), o); err == nil {
			t.Error("no error")
		}
	})
}

// After the first error nothing is written, everything is released, and Close says so.
func TestFolderReportsAFullDisk(t *testing.T) {
	f, err := Create(filepath.Join(t.TempDir(), "run"), CreateOptions{Classes: []string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := f.windows.Close(); err != nil { // as good as a full disk
		t.Fatal(err)
	}
	l := newLife(f.Write)
	for range 3 * queued { // more than the queue holds
		l.r.Planned(0, 0, l.now)
		l.now += Window
		l.r.Tick(l.now)
	}
	err = f.Close()
	if err == nil || !strings.Contains(err.Error(), WindowsFile) {
		t.Errorf("error is %v, want one that names %s", err, WindowsFile)
	}
	if again := f.Close(); again != err {
		t.Errorf("a second Close returns %v", again)
	}
	if n := len(l.r.pool.deltas); n == 0 {
		t.Error("no delta was released")
	}
}

func TestOpenSaysWhatIsWrong(t *testing.T) {
	d := example()
	good := string(encoded(d.classes, d.play(forever)))
	if _, err := Open(t.TempDir()); err == nil || !strings.Contains(err.Error(), "is not the folder of a run") {
		t.Errorf("an empty directory: error is %v", err)
	}
	hist := regexp.MustCompile(`"response":"[^"]*"`)
	for name, test := range map[string]struct{ content, want string }{
		"nothing":            {"", `windows.jsonl:1: want a header with schema "knee.windows/v1"`},
		"another schema":     {`{"schema":"knee.windows/v2"}` + "\n", `windows.jsonl:1: schema is "knee.windows/v2"`},
		"no classes":         {`{"schema":"knee.windows/v1","window_ns":200000000,"hist_window_ns":1000000000}` + "\n", "windows.jsonl:1: 0 classes"},
		"other windows":      {`{"schema":"knee.windows/v1","window_ns":1,"classes":["a"]}` + "\n", "windows.jsonl:1: windows are 1ns"},
		"not JSON":           {good + "}\n", "windows.jsonl:"},
		"two values":         {good + "{\"ending\":1}{}\n", "more than one JSON value"},
		"unknown field":      {good + `{"ending":1,"end":2}` + "\n", `unknown field "end"`},
		"no window":          {good + "{}\n", `"ending" is missing`},
		"far window":         {good + `{"ending":1000000000}` + "\n", "ending is 1000000000: want 0 to"},
		"negative window":    {good + `{"ending":-1}` + "\n", "ending is -1"},
		"unknown step":       {good + `{"ending":1,"cells":[{"step":7}]}` + "\n", "step is 7: want 0 to 0"},
		"unknown class":      {good + `{"ending":1,"cells":[{"class":1}]}` + "\n", "class is 1: want 0 to 0"},
		"window beyond step": {good + `{"ending":1,"cells":[{"planned_window":5}]}` + "\n", "planned_window is 5: want 0 to 4"},
		"second beyond step": {good + `{"ending":1,"hists":[{"planned_second":1}]}` + "\n", "planned_second is 1: want 0 to 0"},
		"step left out":      {good + `{"ending":1,"steps":[{"index":2}]}` + "\n", "step index is 2: want 0 to 1"},
		"endless step":       {good + `{"ending":1,"steps":[{"index":1,"duration_ns":9223372036854775807}]}` + "\n", "step 1 starts at 0s"},
		"unknown kind":       {good + `{"ending":1,"cells":[{"reasons":[{"kind":"bad"}]}]}` + "\n", `kind is "bad"`},
		"unknown population": {good + `{"ending":1,"hists":[{"of":{"all":""}}]}` + "\n", "unknown histogram"},
		"broken histogram":   {hist.ReplaceAllString(good, `"response":"HISTFAAA"`), `histogram "response": not a compressed histogram`},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, WindowsFile), []byte(test.content), 0o644); err != nil {
				t.Fatal(err)
			}
			_, err := Open(dir)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error is %v, want it to say %q", err, test.want)
			}
		})
	}
}

// FuzzReadWindows holds that any file is an error that names the line, or a
// series whose numbers can be asked for, in memory that the file pays for.
func FuzzReadWindows(f *testing.F) {
	d := example()
	good := encoded(d.classes, d.play(forever))
	f.Add(good)
	f.Add(good[:len(good)-10])
	f.Add([]byte(strings.Replace(string(good), `"planned":1`, `"planned":-1`, 1)))
	f.Fuzz(func(t *testing.T, content []byte) {
		r := &Run{}
		if err := r.readWindows(bytes.NewReader(content), "windows.jsonl"); err != nil {
			if !regexp.MustCompile(`^windows\.jsonl:\d+: `).MatchString(err.Error()) {
				t.Fatalf("error does not name the line: %v", err)
			}
			return
		}
		show(r.Series)
		r.Series.Snapshot(10)
		r.Series.InFlight(0, time.Minute)
	})
}
