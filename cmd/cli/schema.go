package cli

import (
	"encoding/json"

	"github.com/invopop/jsonschema"
	"github.com/spf13/cobra"

	"knee/analysis"
	"knee/ci/verdict"
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
				text, err = []byte("{}"), error(nil)
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

// resultSchema returns the schema of a result.
func resultSchema() ([]byte, error) {
	reflector := jsonschema.Reflector{Anonymous: true}
	s := reflector.Reflect(&analysis.Result{})
	s.Title = analysis.Schema
	return json.MarshalIndent(s, "", "  ")
}
