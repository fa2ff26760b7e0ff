package null

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What the server says by default.
const (
	okHead = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 2\r\n\r\n"
	ok     = okHead + "ok"
)

// fresh returns the exchange of a new connection.
func fresh() exchange {
	a := newAnswer([]byte("ok"))
	return exchange{answer: &a}
}

const get = "GET / HTTP/1.1\r\nHost: x\r\n\r\n"

func TestExchange(t *testing.T) {
	for name, c := range map[string]struct {
		in    string
		want  string
		heads int
		over  bool
	}{
		"one":                         {get, ok, 1, false},
		"pipelined":                   {get + get + get, ok + ok + ok, 3, false},
		"half a head":                 {get[:len(get)-1], "", 0, false},
		"empty lines before":          {"\r\n\r\n" + get, ok, 1, false},
		"no fields":                   {"GET / HTTP/1.1\r\n\r\n", ok, 1, false},
		"a body":                      {"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello" + get, ok + ok, 2, false},
		"a body that looks like one":  {"POST / HTTP/1.1\r\ncontent-length:27\r\n\r\n" + get, ok, 1, false},
		"half a body":                 {"POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhell", "", 1, false},
		"no body":                     {"POST / HTTP/1.1\r\nContent-Length: 0\r\n\r\n" + get, ok + ok, 2, false},
		"a body that waits":           {"POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\n", goOn, 1, false},
		"HEAD":                        {"HEAD / HTTP/1.1\r\n\r\n" + get, okHead + ok, 2, false},
		"close":                       {"GET / HTTP/1.1\r\nConnection: Close\r\n\r\n" + get, ok, 1, true},
		"close, after the body":       {"PUT / HTTP/1.1\r\nConnection: close\r\nContent-Length: 1\r\n\r\n", "", 1, false},
		"HTTP/1.0":                    {"GET / HTTP/1.0\r\n\r\n" + get, ok, 1, true},
		"chunked":                     {"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", noLength, 1, true},
		"a length that is none":       {"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n", badRequest, 1, true},
		"a length beyond any":         {"POST / HTTP/1.1\r\nContent-Length: 9999999999999999999\r\n\r\n", badRequest, 1, true},
		"a field of a similar name":   {"GET / HTTP/1.1\r\nContent-Lengths: 7\r\n\r\n" + get, ok + ok, 2, false},
		"a head that does not end":    {"GET / HTTP/1.1\r\nA: " + strings.Repeat("a", mostHead), longHead, 0, true},
		"a field without a colon":     {"GET / HTTP/1.1\r\nconnection\r\n\r\n", ok, 1, false},
		"a first line that is no one": {"x\r\n\r\n", ok, 1, false},
	} {
		x := fresh()
		out, heads, over := x.take([]byte(c.in), nil)
		if string(out) != c.want || heads != c.heads || over != c.over {
			t.Errorf("%s: %q, %d heads, over %v; want %q, %d, %v", name, out, heads, over, c.want, c.heads, c.over)
		}
	}
}

// However the bytes are cut up on their way, the answers are the same.
func TestExchangeInPieces(t *testing.T) {
	requests := []string{
		get,
		"POST /a HTTP/1.1\r\nHost: x\r\nContent-Length: 30\r\n\r\n\r\n\r\nGET / HTTP/1.1\r\n\r\n12345678",
		"HEAD / HTTP/1.1\r\n\r\n",
		"PUT / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 3\r\n\r\nabc",
	}
	answers := []string{ok, ok, okHead, goOn + ok}
	rapid.Check(t, func(t *rapid.T) {
		var in, want string
		chosen := rapid.SliceOfN(rapid.IntRange(0, len(requests)-1), 1, 8).Draw(t, "requests")
		for _, i := range chosen {
			in, want = in+requests[i], want+answers[i]
		}
		var (
			x     = fresh()
			out   []byte
			heads int
		)
		for len(in) > 0 {
			n := rapid.IntRange(1, len(in)).Draw(t, "piece")
			var (
				some int
				over bool
			)
			out, some, over = x.take([]byte(in[:n]), out)
			if over {
				t.Fatalf("over after %q", in[:n])
			}
			in, heads = in[n:], heads+some
		}
		if string(out) != want || heads != len(chosen) {
			t.Fatalf("%q, %d heads; want %q, %d", out, heads, want, len(chosen))
		}
	})
}

func TestExchangeAllocatesNothing(t *testing.T) {
	x := fresh()
	in, out := []byte(get+get), make([]byte, 0, 1024)
	if n := testing.AllocsPerRun(100, func() { x.take(in, out) }); n != 0 {
		t.Errorf("%v allocations for two requests, want 0", n)
	}
}

func FuzzExchange(f *testing.F) {
	f.Add([]byte(get), 3)
	f.Add([]byte("POST / HTTP/1.1\r\nContent-Length: 5\r\nExpect: x\r\n\r\nhello"), 20)
	f.Fuzz(func(t *testing.T, in []byte, cut int) {
		whole, halves := fresh(), fresh()
		want, heads, over := whole.take(in, nil)
		cut = min(max(cut, 0), len(in))
		out, n, ended := halves.take(in[:cut], nil)
		if !ended && cut < len(in) {
			var more int
			out, more, ended = halves.take(in[cut:], out)
			n += more
		}
		if string(out) != string(want) || n != heads || ended != over {
			t.Errorf("cut at %d: %q, %d, %v; whole: %q, %d, %v", cut, out, n, ended, want, heads, over)
		}
	})
}
