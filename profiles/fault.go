package profiles

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// A Fault is one thing that is wrong with a profile, and where.
type Fault struct {
	Origin string // the file, or the flag such as "--set client.timeout"
	Line   int    // from 1; 0 when the place is the file as a whole, or a flag
	Column int    // from 1, in characters; 0 with Line
	What   string // what is wrong
	Want   string // what is allowed
}

// Error returns FILE:LINE:COL: what is wrong: what is allowed.
func (f *Fault) Error() string {
	s := f.Origin
	if f.Line > 0 {
		s += fmt.Sprintf(":%d:%d", f.Line, f.Column)
	}
	s += ": " + f.What
	if f.Want != "" {
		s += ": " + f.Want
	}
	return s
}

// Faults are all things that are wrong with a profile, in the order of their
// places; those of flags come last.
type Faults []*Fault

// Error returns one line for each fault.
func (fs Faults) Error() string {
	lines := make([]string, len(fs))
	for i, f := range fs {
		lines[i] = f.Error()
	}
	return strings.Join(lines, "\n")
}

// Unwrap returns the single faults.
func (fs Faults) Unwrap() []error {
	errs := make([]error, len(fs))
	for i, f := range fs {
		errs[i] = f
	}
	return errs
}

// sorted returns fs by place, each once.
func (fs Faults) sorted() Faults {
	slices.SortStableFunc(fs, func(a, b *Fault) int {
		return cmp.Or(
			cmp.Compare(min(a.Line, 1), min(b.Line, 1))*-1,
			cmp.Compare(a.Line, b.Line),
			cmp.Compare(a.Column, b.Column),
		)
	})
	return slices.CompactFunc(fs, func(a, b *Fault) bool { return *a == *b })
}

// valueError says what a value is and what is wanted instead. The decoder puts
// the name of the field in front.
type valueError struct{ is, want string }

func (e *valueError) Error() string { return "is " + e.is + ": want " + e.want }

// longest is how much of a wrong value a message shows.
const longest = 60

// quote returns s in double quotes, shortened when it is long.
func quote(s string) string {
	if r := []rune(s); len(r) > longest {
		s = string(r[:longest]) + "…"
	}
	return strconv.Quote(s)
}
