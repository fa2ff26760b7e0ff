package cli

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"knee/ci/verdict"
	"knee/profiles"
)

// A positive is the value of a flag for a duration above 0, written as in a
// profile.
type positive time.Duration

func (p *positive) Set(s string) error {
	d, err := profiles.ParseDuration(s)
	if err != nil || d == 0 {
		return errors.New("want a duration above 0 with a unit, such as 200ms or 1m30s")
	}
	*p = positive(d)
	return nil
}

func (p *positive) String() string {
	if *p == 0 {
		return ""
	}
	return time.Duration(*p).String()
}

func (p *positive) Type() string { return "DURATION" }

// A ratio is the value of a flag for a share above 0 and up to a half, such as 5% or
// 0.05.
type ratio float64

func (r *ratio) Set(text string) error {
	number, percent := strings.CutSuffix(text, "%")
	v, err := strconv.ParseFloat(number, 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v > 0 && v <= 0.5) {
		return errors.New("want a share above 0% and up to 50%, such as 1% or 0.01")
	}
	*r = ratio(v)
	return nil
}

func (r *ratio) String() string {
	if *r == 0 {
		return ""
	}
	return strconv.FormatFloat(100*float64(*r), 'g', -1, 64) + "%"
}

func (r *ratio) Type() string { return "SHARE" }

// A span is the value of a flag for a duration that may be 0.
type span struct {
	of    time.Duration
	given bool // on the command line
}

func (s *span) Set(text string) error {
	if text == "0" {
		*s = span{given: true}
		return nil
	}
	d, err := profiles.ParseDuration(text)
	if err != nil {
		return errors.New("want 0 or a duration with a unit, such as 200ms or 1m30s")
	}
	*s = span{of: time.Duration(d), given: true}
	return nil
}

func (s *span) String() string { return s.of.String() }

func (s *span) Type() string { return "DURATION" }

// A count is the value of a flag for a number of things.
type count struct {
	of    int
	given bool // on the command line
}

func (c *count) Set(text string) error {
	n, err := strconv.Atoi(text)
	if err != nil {
		return errors.New("want a whole number")
	}
	*c = count{of: n, given: true}
	return nil
}

func (c *count) String() string { return strconv.Itoa(c.of) }

func (c *count) Type() string { return "int" }

// A given is the value of a flag for a text that is not empty: an empty one is
// more likely a variable that a script forgot to set than a wish.
type given string

func (g *given) Set(s string) error {
	if s == "" {
		return errors.New("is empty: want a value, or no such flag")
	}
	*g = given(s)
	return nil
}

func (g *given) String() string { return string(*g) }

func (g *given) Type() string { return "string" }

// flagError says what is wrong with the flags of cmd.
func flagError(cmd *cobra.Command, err error) error {
	var (
		unknown *pflag.NotExistError
		invalid *pflag.InvalidValueError
	)
	switch {
	case errors.As(err, &unknown) && unknown.GetSpecifiedShortnames() == "":
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		hint := ""
		if near := profiles.Nearest(unknown.GetSpecifiedName(), names); near != "" {
			hint = fmt.Sprintf("; did you mean --%s?", near)
		}
		err = fmt.Errorf("unknown flag --%s%s: `%s --help` lists what there is", unknown.GetSpecifiedName(), hint, cmd.CommandPath())
	case errors.As(err, &invalid):
		f := invalid.GetFlag()
		why := invalid.Unwrap().Error()
		switch f.Value.Type() {
		case "uint64":
			why = "want a whole number of at least 0"
		case "bool":
			why = "want true or false"
		}
		err = fmt.Errorf("--%s %s: %s", f.Name, invalid.GetValue(), why)
		if invalid.GetValue() == "" {
			err = fmt.Errorf("--%s %s", f.Name, why)
		}
	}
	return fail(verdict.CodeUsage, "%w", err)
}

// inOurWords returns allowed with an error that shows how the verb is used.
func inOurWords(allowed cobra.PositionalArgs) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if err := allowed(cmd, args); err == nil {
			return nil
		}
		number := fmt.Sprintf("%d arguments", len(args))
		if len(args) == 1 {
			number = "1 argument"
		}
		return fail(verdict.CodeUsage, "%s with %s: want %s", cmd.Name(), number, cmd.UseLine())
	}
}

// unbuilt are the verbs that are known and not built yet.
var unbuilt = []string{"gameday", "init"}

// knownVerb refuses a first argument that is no verb of root.
func knownVerb(root *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	var names []string
	for _, c := range root.Commands() {
		if c.IsAvailableCommand() || c.Name() == "help" || c.Name() == "completion" {
			names = append(names, c.Name())
		}
	}
	switch name := args[0]; {
	case slices.Contains(names, name):
		return nil
	case slices.Contains(unbuilt, name):
		return fail(verdict.CodeUsage, "%s is not built yet: want one of %s", name, strings.Join(names, ", "))
	default:
		hint := ""
		if near := profiles.Nearest(name, names); near != "" {
			hint = fmt.Sprintf("; did you mean %q?", near)
		}
		return fail(verdict.CodeUsage, "unknown verb %q%s: want one of %s", name, hint, strings.Join(names, ", "))
	}
}
