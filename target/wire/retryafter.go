package wire

import (
	"strconv"
	"strings"
	"time"
)

// AppendRetryAfter appends d as the value of a Retry-After header: whole
// seconds, rounded up, so that nobody comes back too early.
func AppendRetryAfter(b []byte, d time.Duration) []byte {
	if d <= 0 {
		return append(b, '0')
	}
	s := int64(d / time.Second)
	if d%time.Second > 0 {
		s++
	}
	return strconv.AppendInt(b, s, 10)
}

// ParseRetryAfter reads the value of a Retry-After header: whole seconds, or an
// HTTP date in one of the three forms of RFC 9110, section 5.6.7. now is the
// present in seconds since 1970; a date in the past means 0. The result is not
// capped: a server can ask for hours.
func ParseRetryAfter(s string, now int64) (d time.Duration, ok bool) {
	if n, rest, ok := digits(s); ok && rest == "" {
		return times(n, time.Second), true
	}
	then, ok := parseDate(s, now)
	if !ok {
		return 0, false
	}
	return times(max(0, then-now), time.Second), true
}

const monthNames = "JanFebMarAprMayJunJulAugSepOctNovDec"

// parseDate returns the seconds since 1970 of an HTTP date:
//
//	Fri, 31 Dec 1999 23:59:59 GMT
//	Friday, 31-Dec-99 23:59:59 GMT
//	Fri Dec 31 23:59:59 1999
//
// now decides the century of a year of two digits: at most 50 years ahead.
func parseDate(s string, now int64) (unix int64, ok bool) {
	f := strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == ',' || r == '-' })
	var day, month, year, clock string
	switch {
	case len(f) == 6 && f[5] == "GMT":
		day, month, year, clock = f[1], f[2], f[3], f[4]
	case len(f) == 5:
		month, day, clock, year = f[1], f[2], f[3], f[4]
	default:
		return 0, false
	}
	at := strings.Index(monthNames, month)
	if len(month) != 3 || at%3 != 0 {
		return 0, false
	}
	y, okYear := number(year, 0, 9999)
	if len(year) == 2 {
		y = fullYear(y, now)
	}
	d, okDay := number(day, 1, daysIn(y, at/3+1))
	secs, okClock := parseClock(clock)
	if !okYear || !okDay || !okClock {
		return 0, false
	}
	return daysSince1970(y, at/3+1, d)*86400 + secs, true
}

// parseClock returns the seconds since midnight of hh:mm:ss.
func parseClock(s string) (secs int64, ok bool) {
	if len(s) != 8 || s[2] != ':' || s[5] != ':' {
		return 0, false
	}
	h, okH := number(s[:2], 0, 23)
	m, okM := number(s[3:5], 0, 59)
	sec, okS := number(s[6:], 0, 60) // 60 is a leap second
	return int64(h*3600 + m*60 + sec), okH && okM && okS
}

// number reads s, digits only, and requires it to be from low to high.
func number(s string, low, high int) (int, bool) {
	n, rest, ok := digits(s)
	if !ok || rest != "" || n < int64(low) || n > int64(high) {
		return 0, false
	}
	return int(n), true
}

// fullYear adds the century to a year of two digits: the one that brings it
// nearest to the present.
func fullYear(y int, now int64) int {
	const yearSeconds = 31_556_952
	present := int(1970 + now/yearSeconds)
	y += present / 100 * 100
	switch {
	case y > present+50:
		y -= 100
	case y <= present-50:
		y += 100
	}
	return y
}

func daysIn(year, month int) int {
	switch month {
	case 2:
		if year%4 == 0 && (year%100 != 0 || year%400 == 0) {
			return 29
		}
		return 28
	case 4, 6, 9, 11:
		return 30
	}
	return 31
}

// daysSince1970 counts days in the Gregorian calendar, with years that begin in
// March so that the leap day is the last.
func daysSince1970(year, month, day int) int64 {
	if month <= 2 {
		year--
		month += 12
	}
	const until1970 = 719468 // days from 1 March of the year 0 to 1 January 1970
	days := 365*year + year/4 - year/100 + year/400 + (153*(month-3)+2)/5 + day - 1
	return int64(days - until1970)
}
