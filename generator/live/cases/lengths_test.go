package cases

import "testing"

// RFC 9112, section 6.3: what a length can be.
func TestLengths(t *testing.T) {
	turns := map[string]turn{}
	answer := func(fields string) string { return "HTTP/1.1 200 OK\r\n" + fields + "\r\n\r\nok" }
	for name, fields := range map[string]string{
		"plain":         "Content-Length: 2",
		"lower case":    "content-length: 2",
		"space around":  "Content-Length: \t 2 \t",
		"leading zeros": "Content-Length: 002",
		"twice alike":   "Content-Length: 2\r\nContent-Length: 2",
	} {
		turns[name] = turn{talk: always(answer(fields)), ends: good}
	}
	for name, fields := range map[string]string{
		"twice, not alike": "Content-Length: 2\r\nContent-Length: 3",
		"negative":         "Content-Length: -2",
		"signed":           "Content-Length: +2",
		"hexadecimal":      "Content-Length: 0x2",
		"a word":           "Content-Length: two",
		"two words":        "Content-Length: 2 2",
		"beyond 63 bits":   "Content-Length: 9223372036854775808",
	} {
		turns[name] = turn{talk: only(answer(fields)), ends: ended("failed:malformed")}
	}
	turns["never to be reached"] = turn{
		talk: func(c *peer) {
			if _, ok := c.request(); ok {
				c.say(answer("Content-Length: 9223372036854775807"))
			}
		},
		ends: ended("failed:short_body"),
	}
	take(t, turns)
}
