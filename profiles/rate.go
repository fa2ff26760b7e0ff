package profiles

import (
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"
)

// MaxRate is the highest rate, in requests per second, that a profile may ask for.
const MaxRate = 1e6

// A Rate is a load: requests per second, or a multiple of capacity.
type Rate struct {
	Value float64 // requests per second, or a multiple of capacity when X; finite and at least 0
	X     bool    // Value is a multiple of capacity
}

// rateForm is what a rate looks like as text; a plain number is per second.
const rateForm = `^(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?(/s|/m|x)?$`

const wantRate = "a rate such as 1000, 1000/s, 2.5/m or 0.8x (x is a multiple of capacity)"

var rateRE = regexp.MustCompile(rateForm)

// ParseRate reads a rate: 1000, 1000/s, 2.5/m or 0.8x.
func ParseRate(s string) (Rate, error) {
	switch {
	case s == "":
		return Rate{}, &valueError{is: "empty", want: wantRate}
	case rateRE.MatchString(s):
	case strings.HasPrefix(s, "-") && rateRE.MatchString(s[1:]):
		return Rate{}, &valueError{is: s + ", which is below 0", want: wantRate}
	default:
		return Rate{}, &valueError{is: quote(s), want: wantRate}
	}
	number := strings.TrimRight(s, "/smx")
	v, err := strconv.ParseFloat(number, 64)
	r := Rate{Value: v}
	switch s[len(number):] {
	case "x":
		r.X = true
	case "/m":
		r.Value /= 60
	}
	if err != nil || r.Value > MaxRate {
		return Rate{}, &valueError{is: s, want: "at most 1000000/s"}
	}
	return r, nil
}

// PerSecond returns the rate in requests per second at the given capacity.
func (r Rate) PerSecond(capacity float64) float64 {
	if r.X {
		return r.Value * capacity
	}
	return r.Value
}

// UnmarshalText reads what ParseRate reads.
func (r *Rate) UnmarshalText(text []byte) (err error) {
	*r, err = ParseRate(string(text))
	return err
}

// MarshalText writes what UnmarshalText reads.
func (r Rate) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// String returns 1000/s or 0.8x. ParseRate reads it back exactly.
func (r Rate) String() string {
	s := strconv.FormatFloat(r.Value, 'f', -1, 64)
	if math.Abs(r.Value) < 1e-6 && r.Value != 0 {
		s = strconv.FormatFloat(r.Value, 'g', -1, 64)
	}
	if r.X {
		return s + "x"
	}
	return s + "/s"
}

// JSONSchema describes the two forms, a text and a number per second.
func (Rate) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Description: "A rate: 1000 or 1000/s, 2.5/m, or 0.8x, a multiple of capacity.",
		AnyOf: []*jsonschema.Schema{
			{Type: "string", Pattern: rateForm},
			{Type: "number", Minimum: "0", Maximum: "1000000"},
		},
	}
}
