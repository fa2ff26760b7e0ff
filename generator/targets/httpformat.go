package targets

import (
	"strconv"
	"strings"
)

// readHTTP reads the format that looks like requests of HTTP:
//
//	# a comment
//	GET http://host/path
//	Name: value
//
//	# weight: 3
//	POST http://host/path
//	Name: value
//	@file-with-the-body
//
// A target begins with its method and URL and ends at an empty line, after the
// body, or where the next begins. A comment of the form "weight: N" is knee's own
// and belongs to the target that begins next.
func (r *reader) readHTTP() {
	var (
		current *Target // whose head is being read
		weight  int     // of the next target
		said    Place   // where
		lost    bool    // what follows belongs to a line that was wrong
	)
	end := func() {
		if current != nil {
			r.add(*current)
		}
		current = nil
	}
	for l, ok := r.next(); ok; l, ok = r.next() {
		switch method, _, _ := strings.Cut(l.text, " "); {
		case l.text == "":
			end()
			lost = false
		case l.text[0] == '#':
			if n, given := r.weight(l); given {
				weight, said = n, l.at(0)
			}
		case isMethod(method):
			end()
			current, lost = r.requestLine(l, len(method)), false
			if current != nil {
				current.Weight = weight
			}
			weight = 0
		case lost:
		case current == nil:
			r.errs.Add(l.at(0), "%s: want METHOD URL, such as GET http://host/path", quote(l.text))
			lost = true
		case l.text[0] == '@':
			body, err := r.bodies.of(l.text[1:])
			if err != nil {
				r.errs.Add(l.at(1), "body: %v", err)
			}
			current.Body, current.BodyAt = body, l.at(0)
			end()
		default:
			r.field(current, l)
		}
	}
	end()
	if weight != 0 {
		r.errs.Add(said, "a weight without a target: want it above the target's method and URL")
	}
}

// requestLine begins a target; nil when the line is wrong.
func (r *reader) requestLine(l line, method int) *Target {
	url := strings.TrimLeft(l.text[method:], " \t")
	if url == "" {
		r.errs.Add(l.at(0), "%s: want METHOD URL, such as GET http://host/path", quote(l.text))
		return &Target{} // for the fields that follow
	}
	return &Target{Method: l.text[:method], URL: url, At: l.at(len(l.text) - len(url))}
}

// field adds a field to a target.
func (r *reader) field(t *Target, l line) {
	name, value, ok := strings.Cut(l.text, ":")
	value = strings.TrimLeft(value, " \t")
	at := len(l.text) - len(value)
	name = strings.TrimRight(name, " \t")
	switch {
	case !ok:
		r.errs.Add(l.at(0), "%s: want NAME: VALUE, @FILE with the body, or an empty line before the next target", quote(l.text))
	case !isToken(name):
		r.errs.Add(l.at(0), "header %s: want the name of an HTTP header", quote(name))
	case value == "":
		r.errs.Add(l.at(0), "header %s: want a value", name)
	case control(value) >= 0:
		r.errs.Add(l.at(at+control(value)), "header %s: its value holds a control character: want none", name)
	default:
		t.Fields = append(t.Fields, Field{Name: name, Value: value, At: l.at(at)})
	}
}

// weight reads a comment that says how often a target is sent; others are not
// given one.
func (r *reader) weight(l line) (n int, given bool) {
	text, ok := strings.CutPrefix(strings.TrimLeft(l.text[1:], " \t"), "weight:")
	if !ok {
		return 0, false
	}
	text = strings.TrimSpace(text)
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 || n > MaxWeight {
		r.errs.Add(l.at(0), "weight %s: want a whole number from 1 to %d", quote(text), MaxWeight)
		return 0, false
	}
	return n, true
}

// quote returns s as an error shows it: cut, if it is long.
func quote(s string) string {
	const most = 60
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "…"
	}
	return strconv.Quote(s)
}
