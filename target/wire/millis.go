package wire

import (
	"math"
	"strconv"
	"time"
)

// AppendMillis appends d in milliseconds with as many decimals as are needed to
// be exact: 97ms and 123ns become "97.000123". A d below 0 becomes "0".
func AppendMillis(b []byte, d time.Duration) []byte {
	if d <= 0 {
		return append(b, '0')
	}
	b = strconv.AppendInt(b, int64(d/time.Millisecond), 10)
	rest := int64(d % time.Millisecond)
	if rest == 0 {
		return b
	}
	b = append(b, '.')
	for unit := int64(time.Millisecond / 10); rest > 0; unit /= 10 {
		b = append(b, byte('0'+rest/unit))
		rest %= unit
	}
	return b
}

// ParseMillis reads what AppendMillis writes: digits, optionally a point and
// more digits. Decimals beyond the nanosecond are cut off; a value beyond the
// range of a Duration becomes the longest Duration.
func ParseMillis(s string) (d time.Duration, ok bool) {
	whole, s, ok := digits(s)
	if !ok {
		return 0, false
	}
	var part int64
	if len(s) > 0 {
		if s[0] != '.' {
			return 0, false
		}
		decimals := s[1:]
		_, rest, ok := digits(decimals)
		if !ok || rest != "" {
			return 0, false
		}
		unit := int64(time.Millisecond / 10)
		for i := 0; i < len(decimals) && unit > 0; i++ {
			part += int64(decimals[i]-'0') * unit
			unit /= 10
		}
	}
	d = times(whole, time.Millisecond)
	if d > math.MaxInt64-time.Duration(part) {
		return math.MaxInt64, true
	}
	return d + time.Duration(part), true
}

// digits reads the decimal number at the start of s, at least one digit, and
// returns what follows it. A number beyond int64 becomes the largest int64.
func digits(s string) (n int64, rest string, ok bool) {
	i := 0
	for ; i < len(s) && '0' <= s[i] && s[i] <= '9'; i++ {
		digit := int64(s[i] - '0')
		if n > (math.MaxInt64-digit)/10 {
			n = math.MaxInt64
			continue
		}
		n = n*10 + digit
	}
	return n, s[i:], i > 0
}

// times returns n units, at most the longest Duration.
func times(n int64, unit time.Duration) time.Duration {
	if n > math.MaxInt64/int64(unit) {
		return math.MaxInt64
	}
	return time.Duration(n) * unit
}
