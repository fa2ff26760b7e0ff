package cli

import (
	"encoding/json"
	"reflect"
	"strings"

	"github.com/invopop/jsonschema"
	"github.com/spf13/cobra"

	"knee/analysis"
	"knee/ci/verdict"
	"knee/profiles"
)

func newSchemaCmd(w *world) *cobra.Command {
	return &cobra.Command{
		Use:   "schema [profile|result]",
		Short: "print a JSON Schema (2020-12)",
		Long: `schema prints the JSON Schema of a profile, for editors and checks, or of a result,
for programs that read run.json.`,
		Example: `  knee schema profile
  knee schema result`,
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: []string{"profile", "result"},
		RunE: func(_ *cobra.Command, args []string) error {
			var text []byte
			var err error
			switch what := first(args); what {
			case "", "profile":
				text, err = profiles.Schema()
			case "result":
				text, err = resultSchema()
			default:
				return fail(verdict.CodeUsage, "schema %s: want profile or result", what)
			}
			if err != nil {
				return fail(verdict.CodeInternal, "%w", err)
			}
			_, err = w.stdout.Write(append(text, '\n'))
			return err
		},
	}
}

// resultSchema returns the schema of a result. It permits fields that it does
// not know: a later version may add some.
func resultSchema() ([]byte, error) {
	reflector := jsonschema.Reflector{Anonymous: true, AllowAdditionalProperties: true}
	s := reflector.Reflect(&analysis.Result{})
	s.Title = analysis.Schema
	nullable(s, reflect.TypeFor[analysis.Result](), map[reflect.Type]bool{})
	profile, _ := s.Definitions["Result"].Properties.Get("profile")
	profile.Type, profile.Description = "object", "the profile of the run, as `knee schema profile` describes it"
	return json.MarshalIndent(s, "", "  ")
}

// nullable lets every field of t, and of the structs in it, that is a pointer
// be null: an answer that is absent.
func nullable(s *jsonschema.Schema, t reflect.Type, seen map[reflect.Type]bool) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice || t.Kind() == reflect.Map {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || seen[t] {
		return
	}
	seen[t] = true
	for i := range t.NumField() {
		f := t.Field(i)
		nullable(s, f.Type, seen)
		if f.Type.Kind() != reflect.Pointer {
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		properties := s.Definitions[t.Name()].Properties
		value, _ := properties.Get(name)
		properties.Set(name, &jsonschema.Schema{OneOf: []*jsonschema.Schema{value, {Type: "null"}}})
	}
}
