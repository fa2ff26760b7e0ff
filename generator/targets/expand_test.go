package targets

import (
	"errors"
	"reflect"
	"strings"
	"testing"
)

func patterns(t *testing.T, text string) []Pattern {
	t.Helper()
	all, err := Read("f", []byte(text), files)
	if err != nil {
		t.Fatal(err)
	}
	var errs Errors
	var parsed []Pattern
	for _, one := range all {
		parsed = append(parsed, ParsePattern(one, &errs))
	}
	if err := errs.OrNil(); err != nil {
		t.Fatal(err)
	}
	return parsed
}

func TestVariants(t *testing.T) {
	all := patterns(t, `{"method":"POST","url":"http://a/{{seq}}","header":{"X":["n{{seq}}"],"Y":["same"]},"body":"e3tzZXF9fQ=="}`+
		"\n"+`{"method":"GET","url":"http://b/"}`)
	got, order, err := Expand(all, 2, source())
	if err != nil {
		t.Fatal(err)
	}
	var shown []string
	for seq := range 5 {
		shown = append(shown, plain(got[order.At(uint64(seq))]))
	}
	want := []string{"POST http://a/1 | X=n1 | Y=same | 1", "GET http://b/", "POST http://a/2 | X=n2 | Y=same | 2", "GET http://b/", "POST http://a/1 | X=n1 | Y=same | 1"}
	if len(got) != 3 || !reflect.DeepEqual(shown, want) {
		t.Errorf("%d of them: %q\nwant %q", len(got), shown, want)
	}
}

// The same seed makes the same variants, and what has no placeholders shares its
// memory.
func TestVariantsRepeat(t *testing.T) {
	all := patterns(t, "POST http://a/{{uuid}}\nX: {{random 1 1000000}}\n@new.json")
	one, _, err := Expand(all, 10, source())
	if err != nil {
		t.Fatal(err)
	}
	two, _, err := Expand(all, 10, source())
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(one, two) {
		t.Error("the same source made other variants")
	}
	if one[0].URL == one[1].URL {
		t.Error("two variants are the same")
	}
	if &one[0].Body[0] != &one[9].Body[0] {
		t.Error("a body without placeholders is copied")
	}
}

func TestWithoutTemplatesTextsAreKept(t *testing.T) {
	all, err := Read("f", []byte("GET http://a/{{seq}}\nX: {{nonsense}}"), files)
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := Expand([]Pattern{PatternOf(all[0])}, 100, source())
	if err != nil || len(got) != 1 || plain(got[0]) != "GET http://a/{{seq}} | X={{nonsense}}" {
		t.Errorf("%v, error %v: want the one as it is", got, err)
	}
}

func TestPatternsRefuse(t *testing.T) {
	all, err := Read("f", []byte("GET http://{{uuid}}/x\n\nGET http://a/ä{{x}}\nX: ü{{y}}\n\nGET http://a/{{seq}}\n@template\n\nGET {{seq}}\n\nGET http://a?{{seq}}"),
		func(string) ([]byte, error) { return []byte("{{z"), nil })
	if err != nil {
		t.Fatal(err)
	}
	errs := &Errors{File: "f"}
	for _, one := range all {
		ParsePattern(one, errs)
	}
	want := []string{
		"f:1:5: a placeholder before the path: want them in path and query only",
		`f:3:15: placeholder "{{x}}": unknown: ` + wantPlaceholder,
		`f:4:5: placeholder "{{y}}": unknown: ` + wantPlaceholder,
		"f:7:1: body: placeholder without its end: " + wantPlaceholder,
		"f:9:5: a placeholder before the path: want them in path and query only",
	}
	if got := strings.Split(errs.OrNil().Error(), "\n"); !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestServerOf(t *testing.T) {
	for url, want := range map[string]string{
		"http://a/b?c":      "http://a",
		"http://u:p@a:1?b/": "http://u:p@a:1",
		"http://a#/":        "http://a",
		"http://a":          "http://a",
		"/b":                "",
	} {
		if got := ServerOf(url); got != want {
			t.Errorf("%s: %q: want %q", url, got, want)
		}
	}
}

func TestExpandRefuses(t *testing.T) {
	large := ParsePattern(Target{URL: "/", Body: []byte(strings.Repeat("x", 1<<20) + "{{seq}}")}, &Errors{})
	huge := ParsePattern(Target{URL: "/", Body: []byte(strings.Repeat("x", 1<<26) + "{{seq}}")}, &Errors{})
	for name, test := range map[string]struct {
		all  []Pattern
		n    int
		want string
	}{
		"nothing":        {nil, 1, errNoTargets.Error()},
		"none":           {[]Pattern{large}, 0, "0 variants: want 1 to 1048576"},
		"too many":       {[]Pattern{large}, MaxVariants + 1, "1048577 variants: want 1 to 1048576"},
		"too large":      {[]Pattern{large}, 4096, "4096 variants of what takes 1049607 bytes are more than 64 MB: want at most 63 variants"},
		"too large, one": {[]Pattern{huge}, 1, "one variant of each target takes 64 MB: want at most 64 MB for all"},
	} {
		if _, _, err := Expand(test.all, test.n, source()); err == nil || err.Error() != test.want {
			t.Errorf("%s: error %v: want %s", name, err, test.want)
		}
	}
	if _, _, err := Expand([]Pattern{large}, 63, source()); err != nil {
		t.Errorf("what is said to fit does not: %v", err)
	}
	var wrong *Errors
	if errors.As((&Errors{}).OrNil(), &wrong) {
		t.Error("no errors are one")
	}
}
