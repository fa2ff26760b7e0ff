package profiles

import (
	"regexp"
	"strings"
	"time"

	"github.com/invopop/jsonschema"
)

// MaxDuration is the longest duration that a profile may hold. Sums of a few
// of them still fit a time.Duration.
const MaxDuration = 1000 * time.Hour

// A Duration is a length of time as a profile writes it: a Go duration with a
// unit, such as 1m30s, 5s or 20ms. It is never negative and at most
// MaxDuration. A plain 0 is 0; any other number without a unit is refused.
type Duration time.Duration

// durationForm is what a Go duration looks like when it is not negative.
const durationForm = `^(0|((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+)$`

const wantDuration = "a duration with a unit (h m s ms us ns), such as 5s, 1m30s or 20ms"

var (
	durationRE   = regexp.MustCompile(durationForm)
	bareNumberRE = regexp.MustCompile(`^[+-]?\d[\d_]*(\.\d*)?([eE][+-]?\d+)?$`)
)

// ParseDuration reads a duration as a profile writes it.
func ParseDuration(s string) (Duration, error) {
	switch {
	case s == "":
		return 0, &valueError{is: "empty", want: wantDuration}
	case durationRE.MatchString(s):
	case strings.HasPrefix(s, "-") && durationRE.MatchString(s[1:]):
		return 0, &valueError{is: s + ", which is below 0", want: wantDuration}
	case bareNumberRE.MatchString(s):
		return 0, &valueError{is: s + ", which has no unit", want: wantDuration}
	default:
		return 0, &valueError{is: quote(s), want: wantDuration}
	}
	d, err := time.ParseDuration(s)
	if err != nil || d > MaxDuration {
		return 0, &valueError{is: s, want: "at most " + Duration(MaxDuration).String()}
	}
	return Duration(d), nil
}

// UnmarshalText reads what ParseDuration reads.
func (d *Duration) UnmarshalText(text []byte) (err error) {
	*d, err = ParseDuration(string(text))
	return err
}

// MarshalText writes what UnmarshalText reads.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// String returns d without units that are 0: 1h, 1m30s, 20ms.
func (d Duration) String() string {
	s := time.Duration(d).String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// JSONSchema describes the text form.
func (Duration) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{
		Description: "A Go duration with a unit, such as 5s, 1m30s or 20ms; at most 1000h.",
		AnyOf: []*jsonschema.Schema{
			{Type: "string", Pattern: durationForm},
			{Const: 0},
		},
	}
}
