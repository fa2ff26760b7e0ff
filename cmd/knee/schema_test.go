package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// schemaOf returns `knee schema WHAT`, compiled, after change was made to it.
func schemaOf(t *testing.T, what string, change func(v any)) *jsonschema.Schema {
	t.Helper()
	out, stderr, code := knee(t, ".", "schema", what)
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	document := decoded(t, out)
	if got := document.(map[string]any)["$schema"]; got != "https://json-schema.org/draft/2020-12/schema" {
		t.Errorf("$schema is %v, want draft 2020-12", got)
	}
	change(document)
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", document); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func asItIs(any) {}

// closed forbids fields that the schema does not name: the schema permits them
// for the sake of later versions, and this one must not need that.
func closed(v any) {
	switch v := v.(type) {
	case map[string]any:
		if _, ok := v["properties"]; ok {
			v["additionalProperties"] = false
		}
		for _, inner := range v {
			closed(inner)
		}
	case []any:
		for _, inner := range v {
			closed(inner)
		}
	}
}

func decoded(t *testing.T, text string) any {
	t.Helper()
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		t.Fatalf("%v in %.200s", err, text)
	}
	return v
}

func TestResultsFitTheirSchema(t *testing.T) {
	t.Parallel()
	open, shut := schemaOf(t, "result", asItIs), schemaOf(t, "result", closed)
	for _, args := range []string{
		"find --virtual",
		"find --virtual --protect none",
		"find --virtual --max 250",
		"find --virtual --max 1250",
	} {
		t.Run(args, func(t *testing.T) {
			dir := t.TempDir()
			kept := filepath.Join(dir, "kept")
			out, stderr, code := knee(t, dir, append(strings.Fields(args), "--format", "json", "--out", kept)...)
			if code != 0 && code != 1 && code != 5 {
				t.Fatalf("exit code %d: %s", code, stderr)
			}
			text, err := os.ReadFile(filepath.Join(kept, "run.json"))
			if err != nil || string(text) != out {
				t.Fatalf("run.json is not what was printed: %v", err)
			}
			for _, s := range []*jsonschema.Schema{open, shut} {
				if err := s.Validate(decoded(t, out)); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestResultSchemaCanFail holds that the schema notices what the contract rules
// out, and lets a later version add a field.
func TestResultSchemaCanFail(t *testing.T) {
	t.Parallel()
	s := schemaOf(t, "result", asItIs)
	good, _, _ := knee(t, ".", "run", "bounded-queue", "--virtual", "--format", "json", "--quiet")
	for change, fits := range map[string]bool{
		`{"verdict": "pass", "later": 1}`:   true,
		`{"knee": null}`:                    false,
		`{"steps": null}`:                   false,
		`{"steps": [{}]}`:                   false,
		`{"profile": "default"}`:            false,
		`{"capacity": {"rps": null}}`:       false,
		`{"warnings": "none"}`:              false,
		`{"verdict": null}`:                 false,
		`{"reconciliation": {"matched":1}}`: false,
	} {
		var document, changes map[string]any
		if err := json.Unmarshal([]byte(good), &document); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal([]byte(change), &changes); err != nil {
			t.Fatal(err)
		}
		for k, v := range changes {
			document[k] = v
		}
		if err := s.Validate(document); (err == nil) != fits {
			t.Errorf("with %s: %v, want it to fit: %v", change, err, fits)
		}
	}
}

func TestProfileSchemaCanFail(t *testing.T) {
	t.Parallel()
	s := schemaOf(t, "profile", asItIs)
	const whole = `{"target": {"workers": 1, "service": {"kind": "constant", "mean": "1ms"}, "protections": [{"kind": "none"}]}, "load": {"phases": [{"kind": "hold", "rate": "1x", "for": "1s"}]}}`
	if err := s.Validate(decoded(t, whole)); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ is, becomes string }{
		{`"load"`, `"laod"`},
		{`"for": "1s"`, `"for": 1`},
		{`"rate": "1x"`, `"rate": "fast"`},
		{`"workers": 1`, `"workers": "many"`},
		{`{"kind": "none"}`, `{"kind": "codle"}`},
		{`{"kind": "none"}`, `{"wait": "5ms"}`},
		{`{"kind": "none"}`, `{"kind": "queue_bound", "wiat": "5ms"}`},
		{`{"kind": "none"}`, `{"kind": "queue_bound", "wait": 5}`},
	} {
		if err := s.Validate(decoded(t, strings.Replace(whole, c.is, c.becomes, 1))); err == nil {
			t.Errorf("a profile fits with %s for %s", c.becomes, c.is)
		}
	}
}
