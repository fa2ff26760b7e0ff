package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"knee/analysis"
)

// A format is a way to write a result.
type format struct {
	name  string
	write func(io.Writer, *analysis.Result, Options) error
}

// formats are all there are, those for people first.
var formats = []format{
	{"text", Text},
	{"json", func(w io.Writer, r *analysis.Result, _ Options) error { return JSON(w, r) }},
	{"md", func(w io.Writer, r *analysis.Result, _ Options) error { return Markdown(w, r) }},
	{"junit", func(w io.Writer, r *analysis.Result, _ Options) error { return JUnit(w, r, "") }},
	{"bench", func(w io.Writer, r *analysis.Result, _ Options) error { return Bench(w, r) }},
}

// Formats returns the names of all formats.
func Formats() []string {
	var names []string
	for _, f := range formats {
		names = append(names, f.name)
	}
	return names
}

// Write writes r in the format of that name. It returns an error when there is
// none.
func Write(w io.Writer, name string, r *analysis.Result, o Options) error {
	i := slices.IndexFunc(formats, func(f format) bool { return f.name == name })
	if i < 0 {
		return fmt.Errorf("report: no format %q: want one of %s", name, strings.Join(Formats(), ", "))
	}
	return formats[i].write(w, r, o)
}
