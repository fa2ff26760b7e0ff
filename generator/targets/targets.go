// Package targets reads what a run is to send: files of requests in the formats of vegeta, and templates from which requests are made.
//
// Everything is read and made before a run. Nothing here knows of the network.
package targets

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// A Target is one request, as a file has it.
type Target struct {
	Method string // upper case letters; "" where the file says nothing of it
	URL    string // not looked at
	At     Place  // of the URL
	Fields []Field
	Body   []byte
	BodyAt Place // of what says it; the zero value when nothing does
	Weight int   // how often it is sent in comparison with others: 1 to MaxWeight
}

// A Field is one field of the head of a request.
type Field struct {
	Name  string // as it is written; a token of RFC 9110
	Value string // without control characters
	At    Place  // of the value
}

// A Place is a line and a column of a file, both from 1; the column counts
// characters. It is the place at which a text begins.
type Place struct{ Line, Column int }

// An Error is something wrong with a file.
type Error struct {
	At   Place
	What string // what is wrong, and what is allowed
}

// Errors are all that is wrong with one file, in the order of its lines.
type Errors struct {
	File string
	All  []Error
}

// mostShown bounds the errors that are shown of one file.
const mostShown = 20

// Error returns one line for each error, FILE:LINE:COLUMN: what is wrong.
func (e *Errors) Error() string {
	var lines []string
	for _, one := range e.All[:min(len(e.All), mostShown)] {
		lines = append(lines, fmt.Sprintf("%s:%d:%d: %s", e.File, one.At.Line, one.At.Column, one.What))
	}
	if more := len(e.All) - mostShown; more > 0 {
		lines = append(lines, fmt.Sprintf("%s: and %d errors more", e.File, more))
	}
	return strings.Join(lines, "\n")
}

// Add adds an error.
func (e *Errors) Add(at Place, format string, args ...any) {
	e.All = append(e.All, Error{At: at, What: fmt.Sprintf(format, args...)})
}

// OrNil returns e with its errors in order, nil when there are none.
func (e *Errors) OrNil() error {
	if len(e.All) == 0 {
		return nil
	}
	slices.SortStableFunc(e.All, func(a, b Error) int {
		if a.At.Line != b.At.Line {
			return a.At.Line - b.At.Line
		}
		return a.At.Column - b.At.Column
	})
	return e
}

const (
	// MaxWeight is the largest weight of a target.
	MaxWeight = 1000
	// MaxTargets is how many targets a file may have.
	MaxTargets = 1 << 20
)

// Read reads the targets of a file, in the format that its first line is in: that
// of JSON when it begins with a brace, else that of HTTP. readFile returns the
// contents of files with bodies. The error is an *Errors that has everything that
// is wrong.
func Read(file string, text []byte, readFile func(path string) ([]byte, error)) ([]Target, error) {
	r := &reader{errs: Errors{File: file}, rest: bytes.TrimPrefix(text, []byte("\ufeff")), bodies: bodies{read: readFile}}
	if first := firstLine(r.rest); first != "" && first[0] == '{' {
		r.readJSON()
	} else {
		r.readHTTP()
	}
	if len(r.all) == 0 && len(r.errs.All) == 0 {
		r.errs.Add(Place{1, 1}, "no targets: want lines such as GET http://host/path, or JSON objects with method and url")
	}
	return r.all, r.errs.OrNil()
}

// firstLine returns the first line that is neither empty nor a comment.
func firstLine(text []byte) string {
	for line := range bytes.Lines(text) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' {
			return string(line)
		}
	}
	return ""
}

// A reader goes through a file line by line.
type reader struct {
	errs   Errors
	all    []Target
	rest   []byte
	number int // of the line
	bodies bodies
}

// A line is one line of a file, without the space around it.
type line struct {
	text   string
	number int
	indent int // characters before it
}

// at returns the place of the byte of l with this index.
func (l line) at(i int) Place {
	return Place{Line: l.number, Column: l.indent + utf8.RuneCountInString(l.text[:i]) + 1}
}

// next returns the next line.
func (r *reader) next() (l line, ok bool) {
	if len(r.rest) == 0 {
		return line{}, false
	}
	raw, rest, _ := bytes.Cut(r.rest, []byte{'\n'})
	r.rest = rest
	r.number++
	text := strings.TrimLeft(string(raw), " \t\r")
	return line{
		text:   strings.TrimRight(text, " \t\r"),
		number: r.number,
		indent: len(raw) - len(text), // bytes that are characters
	}, true
}

// add adds a target, unless there are too many.
func (r *reader) add(t Target) {
	if len(r.all) == MaxTargets {
		r.errs.Add(t.At, "more than %d targets: want fewer", MaxTargets)
		r.rest = nil
		return
	}
	if t.Weight == 0 {
		t.Weight = 1
	}
	r.all = append(r.all, t)
}

// bodies reads each file with a body once.
type bodies struct {
	read  func(path string) ([]byte, error)
	known map[string][]byte
}

func (b *bodies) of(path string) ([]byte, error) {
	if body, ok := b.known[path]; ok {
		return body, nil
	}
	body, err := b.read(path)
	if err != nil {
		return nil, err
	}
	if b.known == nil {
		b.known = map[string][]byte{}
	}
	b.known[path] = body
	return body, nil
}

// isToken reports whether s can be the name of a field: RFC 9110, section 5.6.2.
func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(`"(),/:;<=>?@[\]{}`, r)
	})
}

// isMethod reports whether s can be a method in a file: upper case letters.
func isMethod(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < 'A' || r > 'Z' })
}

// control returns the index of the first control character that a value may not
// hold; -1 when there is none.
func control(value string) int {
	return strings.IndexFunc(value, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f })
}
