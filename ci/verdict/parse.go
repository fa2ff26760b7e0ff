package verdict

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// A SyntaxError says what is wrong with the text of a check.
type SyntaxError struct {
	Text   string // the whole check
	Offset int    // where in it, in characters
	What   string // what is wrong
	Want   string // what is allowed
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("check %q, at character %d: %s: want %s", e.Text, e.Offset+1, e.What, e.Want)
}

// Parse reads a check; see Check for the grammar. Its error is a *SyntaxError.
func Parse(text string) (Check, error) {
	s := scanner{text: text}
	c, err := s.check()
	if err != nil {
		return Check{}, err
	}
	return c, nil
}

// scanner reads a check from left to right.
type scanner struct {
	text string
	at   int // bytes read
}

var (
	metricRE = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.]*`)
	classRE  = regexp.MustCompile(`^\{\s*class\s*=\s*([A-Za-z0-9_][A-Za-z0-9_.-]*)\s*\}`)
	opRE     = regexp.MustCompile(`^(>=|<=|==|!=|>|<)`)
	phaseRE  = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_.-]*`)
	wordRE   = regexp.MustCompile(`^[^\s]+`)
)

func (s *scanner) check() (c Check, err error) {
	s.space()
	start := s.at
	metric := s.take(metricRE)
	if metric == "" {
		return c, s.wrong(start, s.found(), metrics)
	}
	c.Metric = strings.Replace(metric, ".p99.9", ".p999", 1)
	k, ok := kinds[c.Metric]
	if !ok {
		return c, s.wrong(start, fmt.Sprintf("unknown metric %q", metric), metrics)
	}
	s.space()
	if strings.HasPrefix(s.rest(), "{") {
		if c.Class, err = s.class(c.Metric, k); err != nil {
			return c, err
		}
	}
	s.space()
	if c.Op = s.take(opRE); c.Op == "" {
		return c, s.wrong(s.at, s.found(), "one of >=, <=, >, <, ==, !=")
	}
	s.space()
	start = s.at
	word := s.take(wordRE)
	if c.Value, ok = value(word); !ok || !slices.Contains(k.units, c.Value.Unit) {
		return c, s.wrong(start, notA(word, c.Metric, "compared with"), k.want)
	}
	if c.Value.Unit == NoUnit && slices.Contains(k.units, Rate) {
		c.Value.Unit = Rate
	}
	for s.space(); s.rest() != ""; s.space() {
		if err = s.where(&c, k); err != nil {
			return c, err
		}
	}
	return c, nil
}

// class reads {class=NAME}.
func (s *scanner) class(metric string, k kind) (string, error) {
	m := classRE.FindStringSubmatch(s.rest())
	if m == nil {
		return "", s.wrong(s.at, s.found(), "{class=NAME}")
	}
	if !k.byClass {
		return "", s.wrong(s.at, metric+" is not kept by class", "it without {class=…}; by class there are knee, goodput, counts and good.pNN")
	}
	s.at += len(m[0])
	return m[1], nil
}

// where reads "at LOAD" or "in PHASE".
func (s *scanner) where(c *Check, k kind) error {
	start := s.at
	switch word := s.take(wordRE); {
	case word == "at" && c.At == (Value{}):
		if k.at == "" {
			return s.wrong(start, c.Metric+" has no load", "it without at")
		}
		return s.load(c, k)
	case word == "in" && c.In == "":
		if !k.byPhase {
			return s.wrong(start, c.Metric+" is not kept by phase", "it without in; by phase there are goodput, counts and latencies")
		}
		s.space()
		start = s.at
		if c.In = s.take(phaseRE); c.In == "" {
			return s.wrong(start, s.found(), "the name of a phase, or a kind such as spike")
		}
		return nil
	}
	s.at = start
	return s.wrong(start, s.found(), "the end, at LOAD, or in PHASE")
}

// load reads a LOAD.
func (s *scanner) load(c *Check, k kind) error {
	s.space()
	start := s.at
	word := s.take(wordRE)
	load, ok := value(word)
	if load.Unit == NoUnit {
		load.Unit = Rate
	}
	if !ok || load.Unit != Rate && load.Unit != X || load.Number == 0 {
		return s.wrong(start, notA(word, c.Metric, "taken at"), k.at)
	}
	c.At = load
	return nil
}

// notA says that word does not fit.
func notA(word, metric, how string) string {
	if word == "" {
		return "the text ends"
	}
	return fmt.Sprintf("%s cannot be %s %q", metric, how, word)
}

func (s *scanner) rest() string { return s.text[s.at:] }

func (s *scanner) space() {
	s.at += len(s.rest()) - len(strings.TrimLeft(s.rest(), " \t\r\n"))
}

func (s *scanner) take(re *regexp.Regexp) string {
	m := re.FindString(s.rest())
	s.at += len(m)
	return m
}

// found says what stands at the present place.
func (s *scanner) found() string {
	if word := wordRE.FindString(s.rest()); word != "" {
		return fmt.Sprintf("unexpected %q", word)
	}
	return "the text ends"
}

func (s *scanner) wrong(at int, what, want string) error {
	return &SyntaxError{Text: s.text, Offset: utf8.RuneCountInString(s.text[:at]), What: what, Want: want}
}

var (
	numberRE   = regexp.MustCompile(`^((?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)(%|/s|/m|x)?$`)
	durationRE = regexp.MustCompile(`^((\d+(\.\d*)?|\.\d+)(ns|us|µs|μs|ms|s|m|h))+$`)
)

// value reads a number with whatever unit.
func value(word string) (Value, bool) {
	if durationRE.MatchString(word) {
		d, err := time.ParseDuration(word)
		return Value{float64(d), Duration}, err == nil && d <= longest
	}
	m := numberRE.FindStringSubmatch(word)
	if m == nil {
		return Value{}, false
	}
	n, err := strconv.ParseFloat(m[1], 64)
	v := Value{n, map[string]Unit{"%": Percent, "/s": Rate, "/m": Rate, "x": X}[m[2]]}
	if m[2] == "/m" {
		v.Number /= 60
	}
	return v, err == nil && v.Number <= largest && (v.Number == 0 || v.Number >= 1/largest)
}

// Bounds of a value. Up to longest every nanosecond is a float64 of its own.
const (
	longest = time.Duration(1<<53 - 1)
	largest = 1e15
)

var infinite = math.Inf(1)
