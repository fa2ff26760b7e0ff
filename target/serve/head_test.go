package serve

import (
	"bufio"
	"bytes"
	"io"
	"strings"
	"testing"
	"time"
)

func TestReadingAHeadAllocatesNothing(t *testing.T) {
	s := newServer(t, nil, func(c *Config) { c.Classes = []Class{{Name: "checkout"}} })
	request := strings.ReplaceAll(`POST /path HTTP/1.1
Host: 127.0.0.1:8080
Knee-Class: checkout
Knee-Client: 42
Knee-Work-Ns: 10000000
Knee-Timeout-Ms: 97.000123
Knee-Tenant: a
Knee-Criticality: critical_plus
Knee-Cost: 1.5
Content-Length: 0

`, "\n", "\r\n")
	in := strings.NewReader(request)
	br := bufio.NewReaderSize(in, maxLine)
	c := newCall()
	if n := testing.AllocsPerRun(100, func() {
		in.Reset(request)
		br.Reset(in)
		c.facts = facts{}
		var h head
		if err := s.readHead(br, &h, c); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%g allocations, want 0", n)
	}
	if c.facts.client != 42 || c.facts.timeout.Left() != 97*time.Millisecond+123 || c.facts.bad != 0 {
		t.Errorf("%+v", c.facts)
	}
}

func FuzzReadHead(f *testing.F) {
	for _, seed := range []string{
		get,
		"POST / HTTP/1.1\r\nContent-Length: 3\r\nKnee-Timeout-Ms: 1.5\r\n\r\nabc",
		"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
		"GET / HTTP/1.0\n\n",
		"GET / HTTP/1.1\r\n: x\r\n\r\n",
	} {
		f.Add([]byte(seed))
	}
	s := newServer(f, nil, nil)
	f.Fuzz(func(t *testing.T, data []byte) {
		br := bufio.NewReaderSize(bytes.NewReader(data), maxLine)
		c := newCall()
		var h head
		if err := s.readHead(br, &h, c); err != nil {
			return
		}
		s.identify(c)
		switch {
		case h.length < -1, h.chunked && h.length >= 0:
			t.Fatalf("head %+v", h)
		case !(c.req.Cost > 0), c.req.Deadline < 0, c.req.Work < 0, c.req.Class != 0:
			t.Fatalf("request %+v", c.req)
		}
		if !bytes.Contains(data, []byte("\n\n")) && !bytes.Contains(data, []byte("\n\r\n")) {
			t.Fatalf("a head without an end was taken: %q", data)
		}
		if h.body() {
			_ = h.readBody(br, io.Discard, maxSkip)
		}
	})
}
