package targets

import (
	"errors"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func source() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func made(t testing.TB, text string, number int, from *rand.Rand) string {
	t.Helper()
	parsed, err := ParseTemplate(text)
	if err != nil {
		t.Fatal(err)
	}
	return string(parsed.appendTo(nil, number, from))
}

func TestTemplates(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "",
		"plain":                       "plain",
		"{ } }} {x} {":                "{ } }} {x} {",
		"{{seq}}":                     "7",
		"a{{ seq }}b{{seq}}c":         "a7b7c",
		"{{random 5 5}}":              "5",
		"{{ random   -3 -3 }}":        "-3",
		`{"a":{"b":{{seq}}}}`:         `{"a":{"b":7}}`,
		"{{random 1 1}}{{seq}}{x}}}y": "17{x}}}y",
	} {
		if got := made(t, text, 7, source()); got != want {
			t.Errorf("%s: %q: want %q", text, got, want)
		}
	}
}

func TestTemplatesRefuse(t *testing.T) {
	for text, want := range map[string]struct {
		offset int
		what   string
	}{
		"ab{{":                              {2, "placeholder without its end: " + wantPlaceholder},
		"{{seq":                             {0, "placeholder without its end: " + wantPlaceholder},
		"{{}}":                              {0, `placeholder "{{}}": unknown: ` + wantPlaceholder},
		"{{seq}}{{Seq}}":                    {7, `placeholder "{{Seq}}": unknown: ` + wantPlaceholder},
		"{{.Name}}":                         {0, `placeholder "{{.Name}}": unknown: ` + wantPlaceholder},
		"{{seq 1}}":                         {0, `placeholder "{{seq 1}}": 1 words follow seq: ` + wantPlaceholder},
		"{{random 1}}":                      {0, `placeholder "{{random 1}}": 1 words follow random: ` + wantPlaceholder},
		"{{random 2 1}}":                    {0, `placeholder "{{random 2 1}}": want two whole numbers, the smaller one first, such as {{random 1 100}}`},
		"{{random 1.5 2}}":                  {0, `placeholder "{{random 1.5 2}}": want two whole numbers, the smaller one first, such as {{random 1 100}}`},
		"{{random 0 99999999999999999999}}": {0, `placeholder "{{random 0 99999999999999999999}}": want two whole numbers, the smaller one first, such as {{random 1 100}}`},
	} {
		_, err := ParseTemplate(text)
		var wrong *TemplateError
		if !errors.As(err, &wrong) || wrong.Offset != want.offset || wrong.What != want.what {
			t.Errorf("%s: %v\nwant %d: %s", text, err, want.offset, want.what)
		}
	}
}

func TestRandomIsWithinItsRange(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		low := rapid.Int64().Draw(rt, "low")
		high := rapid.Int64Min(low).Draw(rt, "high")
		text := made(t, "{{random "+strconv.FormatInt(low, 10)+" "+strconv.FormatInt(high, 10)+"}}", 1, source())
		if n, err := strconv.ParseInt(text, 10, 64); err != nil || n < low || n > high {
			rt.Fatalf("%s: want %d to %d", text, low, high)
		}
	})
}

func TestRandomReachesBothEnds(t *testing.T) {
	from, seen := source(), map[string]int{}
	for range 300 {
		seen[made(t, "{{random -1 1}}", 1, from)]++
	}
	if len(seen) != 3 || seen["-1"] < 60 || seen["0"] < 60 || seen["1"] < 60 {
		t.Errorf("seen %v: want a hundred each, or so", seen)
	}
}

func TestUUIDs(t *testing.T) {
	form := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	from, seen := source(), map[string]bool{}
	for range 1000 {
		id := made(t, "{{uuid}}", 1, from)
		if !form.MatchString(id) {
			t.Fatalf("%s is no UUID of version 4", id)
		}
		seen[id] = true
	}
	if len(seen) != 1000 {
		t.Errorf("%d different ones of 1000", len(seen))
	}
}

func FuzzTemplate(f *testing.F) {
	f.Add("a{{seq}}b{{random 1 9}}{{uuid}}}}")
	f.Add("{{{seq}}}")
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := ParseTemplate(text)
		if err != nil {
			var wrong *TemplateError
			if !errors.As(err, &wrong) || !strings.HasPrefix(text[wrong.Offset:], "{{") {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		got := string(parsed.appendTo(nil, MaxVariants, source()))
		if parsed.Fixed() && got != text {
			t.Errorf("%q became %q", text, got)
		}
		if len(got) > parsed.longest() {
			t.Errorf("%q: %d bytes: want at most %d", text, len(got), parsed.longest())
		}
	})
}
