package http1

import (
	"bytes"
	"math"
)

// isToken reports whether b is the token, which is in lower case, in any case.
func isToken(b []byte, token string) bool { return len(b) == len(token) && equalFold(b, token) }

// hasToken reports whether a list of tokens holds this one.
func hasToken(list []byte, token string) bool {
	for {
		i := bytes.IndexByte(list, ',')
		if i < 0 {
			return isToken(trim(list), token)
		}
		if isToken(trim(list[:i]), token) {
			return true
		}
		list = list[i+1:]
	}
}

// decimal reads a number of digits alone, up to the largest that an int64 holds.
func decimal(b []byte) (n uint64, ok bool) {
	for _, c := range b {
		digit := uint64(c - '0')
		if digit > 9 || n > (math.MaxInt64-digit)/10 {
			return 0, false
		}
		n = n*10 + digit
	}
	return n, len(b) > 0
}

// hexadecimal reads a digit.
func hexadecimal(c byte) (digit byte, ok bool) {
	switch {
	case '0' <= c && c <= '9':
		return c - '0', true
	case 'a' <= c && c <= 'f':
		return c - 'a' + 10, true
	case 'A' <= c && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}
