package targets

import (
	"errors"
	"math/rand/v2"
	"strings"
	"unicode/utf8"
)

// A Pattern is a target whose texts may have placeholders.
type Pattern struct {
	target Target
	url    *Template
	fields []*Template // as those of the target
	body   *Template
}

// PatternOf returns t as it is, without placeholders.
func PatternOf(t Target) Pattern { return Pattern{target: t} }

// ParsePattern reads the placeholders in path and query, fields and body of t. It
// adds what is wrong to errs.
func ParsePattern(t Target, errs *Errors) Pattern {
	p := Pattern{target: t}
	parse := func(text string, at Place) *Template {
		parsed, err := ParseTemplate(text)
		var wrong *TemplateError
		if errors.As(err, &wrong) {
			at.Column += utf8.RuneCountInString(text[:wrong.Offset])
			errs.Add(at, "%s", wrong.What)
			return fixed
		}
		return parsed
	}
	p.url = parse(t.URL, t.At)
	if path := pathOf(t.URL); !p.url.Fixed() && strings.Contains(t.URL[:path], "{{") {
		errs.Add(t.At, "a placeholder before the path: want them in path and query only")
	}
	for _, f := range t.Fields {
		p.fields = append(p.fields, parse(f.Value, f.At))
	}
	body, err := ParseTemplate(string(t.Body))
	if err != nil {
		errs.Add(t.BodyAt, "body: %v", err)
		body = fixed
	}
	p.body = body
	return p
}

// fixed stands for a template that is wrong.
var fixed = &Template{pieces: []piece{{}}}

// pathOf returns where the path of a URL begins.
func pathOf(url string) int {
	begin := 0
	if i := strings.Index(url, "://"); i >= 0 {
		begin = i + len("://")
	}
	if i := strings.IndexAny(url[begin:], "/?#"); i >= 0 {
		return begin + i
	}
	return len(url)
}

// ServerOf returns the part of a URL that names the server and the credentials for
// it: what stands before the path. It is empty for a path.
func ServerOf(url string) string { return url[:pathOf(url)] }

func (p *Pattern) weight() int { return max(1, p.target.Weight) }

// Fixed reports whether p has no placeholder.
func (p *Pattern) Fixed() bool {
	for _, t := range p.templates() {
		if !t.Fixed() {
			return false
		}
	}
	return true
}

// longest returns how many bytes the texts of a variant have at most, but for
// those that all variants share.
func (p *Pattern) longest() int {
	n := len(p.target.Method)
	for _, t := range p.templates() {
		if !t.Fixed() {
			n += t.longest()
		}
	}
	return n
}

// templates returns those of p.
func (p *Pattern) templates() []*Template {
	if p.url == nil {
		return nil
	}
	return append([]*Template{p.url, p.body}, p.fields...)
}

// variant returns the target with its placeholders filled in.
func (p *Pattern) variant(number int, from *rand.Rand) Target {
	t := p.target
	if p.Fixed() {
		return t
	}
	fill := func(template *Template, text string) string {
		if template.Fixed() {
			return text
		}
		return string(template.appendTo(nil, number, from))
	}
	t.URL = fill(p.url, t.URL)
	t.Fields = make([]Field, len(p.target.Fields))
	for i, f := range p.target.Fields {
		t.Fields[i] = Field{Name: f.Name, Value: fill(p.fields[i], f.Value), At: f.At}
	}
	if !p.body.Fixed() {
		t.Body = p.body.appendTo(nil, number, from)
	}
	return t
}
