package targets

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// readJSON reads the format of one JSON object a line:
//
//	{"method": "POST", "url": "http://host/path", "header": {"Name": ["value"]}, "body": "aGVsbG8=", "weight": 3}
//
// The body is base64. Weight is knee's own, as are comments and that a method may
// be missing; "$schema" is taken and says nothing.
func (r *reader) readJSON() {
	for l, ok := r.next(); ok; l, ok = r.next() {
		if l.text == "" || l.text[0] == '#' {
			continue
		}
		o := &object{line: l, decoder: json.NewDecoder(strings.NewReader(l.text)), errs: &r.errs}
		o.decoder.UseNumber()
		if t, ok := o.read(); ok {
			r.add(t)
		}
	}
}

// An object reads one line of the JSON format.
type object struct {
	line    line
	decoder *json.Decoder
	errs    *Errors
	begun   int // where the token read last begins
}

// keys are those that a target can have.
var keys = []string{"method", "url", "header", "body", "weight", "$schema"}

// errSyntax says that the rest of a line cannot be read.
var errSyntax = errors.New("syntax")

// read returns the target of the line, unless something is wrong with it.
func (o *object) read() (Target, bool) {
	before := len(o.errs.All)
	t, err := o.target()
	end := int(o.decoder.InputOffset())
	if rest := strings.TrimLeft(o.line.text[end:], " \t"); err == nil && rest != "" {
		o.wrong(len(o.line.text)-len(rest), "something follows the object: want one object a line")
	}
	return t, len(o.errs.All) == before
}

// wrong adds an error at a byte of the line.
func (o *object) wrong(at int, format string, args ...any) {
	o.errs.Add(o.line.at(min(at, len(o.line.text))), format, args...)
}

// token returns the next token.
func (o *object) token() (json.Token, error) {
	from := int(o.decoder.InputOffset())
	o.begun = from + len(o.line.text[from:]) - len(strings.TrimLeft(o.line.text[from:], " \t,:"))
	token, err := o.decoder.Token()
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		o.wrong(o.begun, "not JSON: %v", syntax)
		return nil, errSyntax
	case err != nil:
		o.wrong(len(o.line.text), "not JSON: the line ends within an object")
		return nil, errSyntax
	}
	return token, nil
}

// target reads the object. Its error is errSyntax.
func (o *object) target() (t Target, err error) {
	token, err := o.token()
	if err != nil {
		return t, err
	}
	if token != json.Delim('{') {
		o.wrong(o.begun, "%v: want an object with method and url", shown(token))
		return t, errSyntax
	}
	seen := map[string]bool{}
	for {
		token, err := o.token()
		if err != nil {
			return t, err
		}
		if token == json.Delim('}') {
			if !seen["url"] {
				o.wrong(0, "no url: want one")
			}
			return t, nil
		}
		key, at := token.(string), o.begun
		if seen[key] {
			o.wrong(at, "%s comes twice: want it once", key)
		}
		seen[key] = true
		if !slices.Contains(keys, key) {
			o.wrong(at, "unknown key %s: want one of %s", quote(key), strings.Join(keys, ", "))
		}
		if err := o.value(&t, key); err != nil {
			return t, err
		}
	}
}

// value reads the value of a key.
func (o *object) value(t *Target, key string) error {
	token, err := o.token()
	if err != nil {
		return err
	}
	at := o.begun
	text, isText := token.(string)
	switch {
	case key == "method":
		if !isText || !isMethod(text) {
			o.wrong(at, "method %v: want upper case letters, such as \"GET\"", shown(token))
		}
		t.Method = text
	case key == "url":
		if !isText || text == "" {
			o.wrong(at, "url %v: want a text such as \"http://host/path\"", shown(token))
		}
		t.URL, t.At = text, o.line.at(at+1)
	case key == "body":
		body, err := base64.StdEncoding.DecodeString(text)
		if token != nil && (!isText || err != nil) {
			o.wrong(at, "body: want a text in base64")
		}
		t.Body, t.BodyAt = body, o.line.at(at)
	case key == "weight":
		number, _ := token.(json.Number)
		n, err := number.Int64()
		if err != nil || n < 1 || n > MaxWeight {
			o.wrong(at, "weight %v: want a whole number from 1 to %d", shown(token), MaxWeight)
		}
		t.Weight = int(n)
	case key == "header":
		return o.header(t, token)
	default:
		return o.skip(token)
	}
	return o.skip(token)
}

// header reads the fields of the head, of which token is the start.
func (o *object) header(t *Target, token json.Token) error {
	if token == nil {
		return nil
	}
	if token != json.Delim('{') {
		o.wrong(o.begun, "header %v: want an object with lists of texts, such as {\"Accept\": [\"text/plain\"]}", shown(token))
		return o.skip(token)
	}
	for {
		token, err := o.token()
		if err != nil || token == json.Delim('}') {
			return err
		}
		name := token.(string)
		if !isToken(name) {
			o.wrong(o.begun, "header %s: want the name of an HTTP header", quote(name))
		}
		if err := o.values(t, name); err != nil {
			return err
		}
	}
}

// values reads the values of a field.
func (o *object) values(t *Target, name string) error {
	token, err := o.token()
	if err != nil {
		return err
	}
	if token != json.Delim('[') {
		o.wrong(o.begun, "header %s is %v: want a list of texts", quote(name), shown(token))
		return o.skip(token)
	}
	for {
		token, err := o.token()
		if err != nil || token == json.Delim(']') {
			return err
		}
		value, ok := token.(string)
		switch {
		case !ok:
			o.wrong(o.begun, "header %s has %v: want texts", quote(name), shown(token))
		case control(value) >= 0:
			o.wrong(o.begun, "header %s: its value holds a control character: want none", quote(name))
		default:
			t.Fields = append(t.Fields, Field{Name: name, Value: value, At: o.line.at(o.begun + 1)})
		}
		if err := o.skip(token); err != nil {
			return err
		}
	}
}

// skip reads on to the end of the value of which token is the start.
func (o *object) skip(token json.Token) error {
	depth := 0
	for {
		switch token {
		case json.Delim('{'), json.Delim('['):
			depth++
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
		if depth == 0 {
			return nil
		}
		var err error
		if token, err = o.token(); err != nil {
			return err
		}
	}
}

// shown returns a token as an error shows it.
func shown(token json.Token) string {
	switch v := token.(type) {
	case nil:
		return "null"
	case string:
		return quote(v)
	case json.Delim:
		return map[json.Delim]string{'{': "an object", '[': "a list"}[v]
	}
	return fmt.Sprint(token)
}
