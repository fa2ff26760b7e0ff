package cases

import (
	"strings"
	"testing"
)

// RFC 9112, section 7.1: bodies in chunks.
func TestChunks(t *testing.T) {
	const head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
	malformed := ended("failed:malformed")
	turns := map[string]turn{}
	for name, body := range map[string]string{
		"one":                "2\r\nok\r\n0\r\n\r\n",
		"upper case":         "A\r\n0123456789\r\n0\r\n\r\n",
		"leading zeros":      "0002\r\nok\r\n000\r\n\r\n",
		"extensions":         "2;a;b=c;d=\"e f\"\r\nok\r\n0;x=y\r\n\r\n",
		"trailer":            "2\r\nok\r\n0\r\nA: b\r\nC: d\r\n\r\n",
		"none":               "0\r\n\r\n",
		"one byte at a time": strings.Repeat("1\r\nx\r\n", 500) + "0\r\n\r\n",
	} {
		turns[name] = turn{talk: always(head + body), ends: good}
	}
	for name, body := range map[string]string{
		"size with 0x":         "0x2\r\nok\r\n0\r\n\r\n",
		"negative size":        "-2\r\nok\r\n0\r\n\r\n",
		"signed size":          "+2\r\nok\r\n0\r\n\r\n",
		"empty size":           "\r\nok\r\n0\r\n\r\n",
		"extension alone":      ";a=b\r\nok\r\n0\r\n\r\n",
		"size beyond 64 bits":  "10000000000000002\r\nok\r\n0\r\n\r\n",
		"chunk too long":       "2\r\nokay\r\n0\r\n\r\n",
		"chunk too short":      "3\r\nok\r\n0\r\n\r\n",
		"trailer that is none": "2\r\nok\r\n0\r\nno colon here\r\n\r\n",
	} {
		turns[name] = turn{talk: only(head + body), ends: malformed}
	}
	take(t, turns)
}

// A Transfer-Encoding other than chunked. RFC 9112, sections 6.1 and 6.3.
func TestTransferEncodings(t *testing.T) {
	const chunks = "2\r\nok\r\n0\r\n\r\n"
	take(t, map[string]turn{
		"with a length": {talk: always("HTTP/1.1 200 OK\r\nContent-Length: 7\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks), ends: good},
		"in upper case": {talk: always("HTTP/1.1 200 OK\r\nTransfer-Encoding: CHUNKED\r\n\r\n" + chunks), ends: good},
	})
}
