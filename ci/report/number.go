package report

import (
	"fmt"
	"strings"
)

// absent stands for a number that there is none of.
const absent = "-"

// rate formats arrivals per second with about three digits.
func rate(v float64) string {
	switch {
	case !isFinite(v):
		return absent
	case v >= 99.95:
		return fmt.Sprintf("%.0f", v)
	case v >= 9.995:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

// fixed formats v with so many decimals.
func fixed(v float64, decimals int) string {
	if !isFinite(v) {
		return absent
	}
	return fmt.Sprintf("%.*f", decimals, v)
}

// maybe formats what v points to, with format.
func maybe(v *float64, format func(float64) string) string {
	if v == nil || !isFinite(*v) {
		return absent
	}
	return format(*v)
}

// multiple formats a load as a multiple of capacity.
func multiple(x float64) string {
	if x < 0.1 {
		return fixed(x, 3) + "x"
	}
	return fixed(x, 2) + "x"
}

// decimals returns a format with so many of them.
func decimals(n int) func(float64) string {
	return func(v float64) string { return fixed(v, n) }
}

// percent formats a share of n in percent with one decimal. What is not quite
// none or all does not read as if it were.
func percent(part, n uint64) string {
	if n == 0 {
		return absent
	}
	p := fmt.Sprintf("%.1f", 100*float64(part)/float64(n))
	switch {
	case part > 0 && p == "0.0":
		return "<0.1"
	case part < n && p == "100.0":
		return ">99.9"
	}
	return p
}

// known reports whether all of vs are there and finite.
func known(vs ...*float64) bool {
	for _, v := range vs {
		if v == nil || !isFinite(*v) {
			return false
		}
	}
	return true
}

// plural returns "1 thing" or "3 things".
func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// wrap breaks s between words to lines of at most width columns; all but the
// first are indented.
func wrap(s string, width, indent int) string {
	var b strings.Builder
	column := 0
	for _, word := range strings.Fields(s) {
		n := len([]rune(word))
		switch {
		case b.Len() == 0:
		case column+1+n > width:
			b.WriteString("\n" + strings.Repeat(" ", indent))
			column = indent
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += n
	}
	return b.String()
}
