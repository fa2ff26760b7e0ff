package targets

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// A Template is a text with placeholders:
//
//	{{seq}}             the number of the variant, from 1
//	{{random LOW HIGH}} a whole number from LOW to HIGH, both included
//	{{uuid}}            a random UUID (RFC 9562, version 4)
//
// Spaces around the words do not matter. Two open braces begin a placeholder
// wherever they stand; all other braces are text.
type Template struct{ pieces []piece }

// A piece is a text, and the placeholder that follows it.
type piece struct {
	text      string
	what      placeholder
	low, high int64 // of random
}

type placeholder uint8

const (
	nothing placeholder = iota
	seq
	random
	uuid
)

// wantPlaceholder says which placeholders there are.
const wantPlaceholder = "want {{seq}}, {{random LOW HIGH}} or {{uuid}}"

// A TemplateError says what is wrong with a template.
type TemplateError struct {
	Offset int // in bytes, of the placeholder
	What   string
}

func (e *TemplateError) Error() string { return e.What }

// ParseTemplate reads a template. Its errors are *TemplateErrors.
func ParseTemplate(text string) (*Template, error) {
	t := &Template{}
	for at := 0; ; {
		before, rest, found := strings.Cut(text[at:], "{{")
		if !found {
			t.pieces = append(t.pieces, piece{text: before})
			return t, nil
		}
		begin := at + len(before)
		words, _, closed := strings.Cut(rest, "}}")
		if !closed {
			return nil, &TemplateError{begin, "placeholder without its end: " + wantPlaceholder}
		}
		p, err := parsePlaceholder(words)
		if err != nil {
			return nil, &TemplateError{begin, fmt.Sprintf("placeholder %s: %v", quote("{{"+words+"}}"), err)}
		}
		p.text = before
		t.pieces = append(t.pieces, p)
		at = begin + len("{{") + len(words) + len("}}")
	}
}

func parsePlaceholder(words string) (p piece, err error) {
	name, args := "", strings.Fields(words)
	if len(args) > 0 {
		name, args = args[0], args[1:]
	}
	wanted := 0
	switch name {
	case "seq":
		p.what = seq
	case "uuid":
		p.what = uuid
	case "random":
		p.what, wanted = random, 2
	default:
		return p, fmt.Errorf("unknown: %s", wantPlaceholder)
	}
	if len(args) != wanted {
		return p, fmt.Errorf("%d words follow %s: %s", len(args), name, wantPlaceholder)
	}
	if p.what == random {
		var errLow, errHigh error
		p.low, errLow = strconv.ParseInt(args[0], 10, 64)
		p.high, errHigh = strconv.ParseInt(args[1], 10, 64)
		if errLow != nil || errHigh != nil || p.low > p.high {
			return p, fmt.Errorf("want two whole numbers, the smaller one first, such as {{random 1 100}}")
		}
	}
	return p, nil
}

// Fixed reports whether t has no placeholder.
func (t *Template) Fixed() bool { return len(t.pieces) == 1 }

// longest returns how many bytes a text made from t has at most.
func (t *Template) longest() int {
	n := 0
	for _, p := range t.pieces {
		n += len(p.text)
		switch p.what {
		case seq:
			n += len(strconv.Itoa(MaxVariants))
		case random:
			n += max(len(strconv.FormatInt(p.low, 10)), len(strconv.FormatInt(p.high, 10)))
		case uuid:
			n += len("00000000-0000-0000-0000-000000000000")
		}
	}
	return n
}

// appendTo appends the text of a variant, numbered from 1, to b.
func (t *Template) appendTo(b []byte, number int, from *rand.Rand) []byte {
	for _, p := range t.pieces {
		b = append(b, p.text...)
		switch p.what {
		case seq:
			b = strconv.AppendInt(b, int64(number), 10)
		case random:
			// The width of the range may not fit an int64, but always fits a uint64.
			var n uint64
			if width := uint64(p.high) - uint64(p.low) + 1; width != 0 {
				n = from.Uint64N(width)
			} else {
				n = from.Uint64()
			}
			b = strconv.AppendInt(b, int64(uint64(p.low)+n), 10)
		case uuid:
			b = appendUUID(b, from)
		}
	}
	return b
}

// appendUUID appends a random UUID: RFC 9562, section 5.4.
func appendUUID(b []byte, from *rand.Rand) []byte {
	high := from.Uint64()&^0xf000 | 0x4000        // the version
	low := from.Uint64()&^(3<<62) | uint64(1)<<63 // the variant
	return fmt.Appendf(b, "%08x-%04x-%04x-%04x-%012x", high>>32, high>>16&0xffff, high&0xffff, low>>48, low&(1<<48-1))
}
