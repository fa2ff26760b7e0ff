package live

import (
	"crypto/tls"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"knee/generator/client"
)

// serveH2 starts a server of net/http that speaks HTTP/2, over TLS if secure.
func serveH2(t *testing.T, secure bool, h http.HandlerFunc) (*counter, string) {
	t.Helper()
	c := &counter{handler: h}
	s := httptest.NewUnstartedServer(c)
	s.Config.Protocols = new(http.Protocols)
	if secure {
		s.EnableHTTP2 = true
		s.Config.Protocols.SetHTTP2(true)
		s.StartTLS()
	} else {
		s.Config.Protocols.SetUnencryptedHTTP2(true)
		s.Start()
	}
	t.Cleanup(s.Close)
	return c, s.URL
}

func overH2(t *testing.T, test func(t *testing.T, secure bool, o Options)) {
	for name, secure := range map[string]bool{"h2c": false, "h2": true} {
		t.Run(name, func(t *testing.T) {
			test(t, secure, Options{Engine: H2, HTTP: HTTP{TLS: &tls.Config{InsecureSkipVerify: true}}})
		})
	}
}

func TestH2(t *testing.T) {
	overH2(t, func(t *testing.T, secure bool, o Options) {
		seen, url := serveH2(t, secure, func(w http.ResponseWriter, r *http.Request) {
			if r.ProtoMajor != 2 || r.Header.Get("X-A") != "b" || r.URL.RequestURI() != "/p?q=1" {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			w.Header().Set("Knee-Reason", "busy")
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		o.Requests = []Request{{Path: "/p?q=1", Header: http.Header{"X-A": {"b"}, "Connection": {"close"}}}}
		r := trip{url: url, rate: 200, length: 500 * time.Millisecond, options: o}.run(t)
		if r.tally.RejectedBy["busy"] != 100 || seen.seen() != 100 {
			t.Errorf("rejected by %v, failed by %v, %d seen: want 100 busy", r.tally.RejectedBy, r.tally.FailedBy, seen.seen())
		}
		if r.stats.Opened+r.stats.Reused < 100 || r.stats.Reused < 90 {
			t.Errorf("opened %d, reused %d: want few connections", r.stats.Opened, r.stats.Reused)
		}
	})
}

// Bodies are sent as the server takes them, and read to their end.
func TestH2Bodies(t *testing.T) {
	body := make([]byte, 1<<20+7)
	for i := range body {
		body[i] = byte(i * 7)
	}
	overH2(t, func(t *testing.T, secure bool, o Options) {
		var wrong atomic.Int64
		_, url := serveH2(t, secure, func(w http.ResponseWriter, r *http.Request) {
			got, err := io.ReadAll(r.Body)
			if err != nil || string(got) != string(body) {
				wrong.Add(1)
			}
			w.Write(body)
		})
		o.Requests = []Request{{Method: "POST", Body: body}}
		r := trip{url: url, rate: 20, length: 200 * time.Millisecond, timeout: time.Minute, options: o}.run(t)
		if r.tally.Good != 4 || wrong.Load() != 0 || r.stats.BodyBytes != 4*uint64(len(body)) {
			t.Errorf("good %d, failed by %v, %d bodies changed, %d bytes came back: want 4 and none", r.tally.Good, r.tally.FailedBy, wrong.Load(), r.stats.BodyBytes)
		}
	})
}

// A request that is given up costs its stream, not the connection.
func TestH2Cancel(t *testing.T) {
	overH2(t, func(t *testing.T, secure bool, o Options) {
		_, url := serveH2(t, secure, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		r := trip{
			url: url, rate: 100, length: 300 * time.Millisecond, timeout: 50 * time.Millisecond,
			client: client.Options{Close: true}, options: o,
		}.run(t)
		if r.tally.Timeout != 30 || r.stats.Opened != 1 {
			t.Errorf("timeout %d, failed by %v, %d connections: want 30 on one", r.tally.Timeout, r.tally.FailedBy, r.stats.Opened)
		}
	})
}

// A server of frames answers each connection by a function.
func serveFrames(t *testing.T, limit uint32, talk func(c *frames)) *rawServer {
	return serveRaw(t, func(c *net.TCPConn) {
		preface := make([]byte, len(http2.ClientPreface))
		if _, err := io.ReadFull(c, preface); err != nil || string(preface) != http2.ClientPreface {
			return
		}
		f := &frames{Framer: http2.NewFramer(c, c), conn: c}
		f.ReadMetaHeaders = hpack.NewDecoder(4096, nil)
		var settings []http2.Setting
		if limit > 0 {
			settings = append(settings, http2.Setting{ID: http2.SettingMaxConcurrentStreams, Val: limit})
		}
		if f.WriteSettings(settings...) == nil {
			talk(f)
		}
	})
}

// frames is one connection of such a server.
type frames struct {
	*http2.Framer
	conn *net.TCPConn
}

// request waits for the next request and returns its stream; 0 when there is none.
func (f *frames) request() uint32 {
	for {
		frame, err := f.ReadFrame()
		if err != nil {
			return 0
		}
		switch frame := frame.(type) {
		case *http2.MetaHeadersFrame:
			return frame.StreamID
		case *http2.SettingsFrame:
			if !frame.IsAck() {
				f.WriteSettingsAck()
			}
		}
	}
}

// head answers with a status and other fields, NAME=VALUE.
func (f *frames) head(id uint32, ends bool, status string, fields ...string) {
	var b strings.Builder
	e := hpack.NewEncoder(&b)
	if status != "" {
		e.WriteField(hpack.HeaderField{Name: ":status", Value: status})
	}
	for _, field := range fields {
		name, value, _ := strings.Cut(field, "=")
		e.WriteField(hpack.HeaderField{Name: name, Value: value})
	}
	f.WriteHeaders(http2.HeadersFrameParam{StreamID: id, BlockFragment: []byte(b.String()), EndStream: ends, EndHeaders: true})
}

func TestH2FailureKinds(t *testing.T) {
	for name, test := range map[string]struct {
		answer func(f *frames, id uint32) (more bool)
		want   string // "" when it is a good answer
	}{
		"refused":          {func(f *frames, id uint32) bool { f.WriteRSTStream(id, http2.ErrCodeRefusedStream); return true }, "h2_refused_stream"},
		"internal error":   {func(f *frames, id uint32) bool { f.WriteRSTStream(id, http2.ErrCodeInternal); return true }, "h2_internal_error"},
		"calm":             {func(f *frames, id uint32) bool { f.WriteRSTStream(id, http2.ErrCodeEnhanceYourCalm); return true }, "h2_enhance_your_calm"},
		"going away":       {func(f *frames, id uint32) bool { f.WriteGoAway(0, http2.ErrCodeNo, nil); f.request(); return false }, H2GoAway},
		"closed":           {func(*frames, uint32) bool { return false }, EOF},
		"reset":            {func(f *frames, _ uint32) bool { reset(f.conn); return false }, Reset},
		"closed in a body": {func(f *frames, id uint32) bool { f.head(id, false, "200"); return false }, ShortBody},
		"too short": {func(f *frames, id uint32) bool {
			f.head(id, false, "200", "content-length=9")
			f.WriteData(id, true, []byte("abc"))
			return true
		}, ShortBody},
		"too long": {func(f *frames, id uint32) bool {
			f.head(id, false, "200", "content-length=1")
			f.WriteData(id, true, []byte("abc"))
			return true
		}, Malformed},
		"no status":        {func(f *frames, id uint32) bool { f.head(id, true, "", "x=y"); return true }, Malformed},
		"two statuses":     {func(f *frames, id uint32) bool { f.head(id, true, "200", ":status=200"); return true }, Malformed},
		"upper case":       {func(f *frames, id uint32) bool { f.head(id, true, "200", "X=y"); return true }, Malformed},
		"no digits":        {func(f *frames, id uint32) bool { f.head(id, true, "abc"); return true }, Malformed},
		"body before head": {func(f *frames, id uint32) bool { f.WriteData(id, true, []byte("abc")); return true }, Malformed},
		"unknown stream":   {func(f *frames, id uint32) bool { f.head(id+100, true, "200"); f.request(); return false }, Malformed},
		"push": {func(f *frames, id uint32) bool {
			f.WritePushPromise(http2.PushPromiseParam{StreamID: id, PromiseID: 2, EndHeaders: true})
			f.request()
			return false
		}, Malformed},
		"too many interim answers": {func(f *frames, id uint32) bool {
			for range 9 {
				f.head(id, false, "103")
			}
			return true
		}, TooManyInterim},
		"large head": {func(f *frames, id uint32) bool {
			var fields []string
			for range 600 {
				fields = append(fields, "x="+strings.Repeat("y", 80))
			}
			f.head(id, true, "200", fields[:200]...)
			return true
		}, ""},
		"interim answers": {func(f *frames, id uint32) bool {
			f.head(id, false, "103")
			f.head(id, false, "200")
			f.WriteData(id, true, nil)
			return true
		}, ""},
		"trailer": {func(f *frames, id uint32) bool {
			f.head(id, false, "200")
			f.WriteData(id, false, []byte("a"))
			f.head(id, true, "", "a=b")
			return true
		}, ""},
		"no body": {func(f *frames, id uint32) bool { f.head(id, true, "204", "content-length=3"); return true }, ""},
		"pings":   {func(f *frames, id uint32) bool { f.WritePing(false, [8]byte{1}); f.head(id, true, "200"); return true }, ""},
		"unknown frames": {func(f *frames, id uint32) bool {
			f.WriteRawFrame(99, 0, id, []byte("x"))
			f.head(id, true, "200")
			return true
		}, ""},
		"reset after the answer": {func(f *frames, id uint32) bool {
			f.head(id, true, "200")
			f.WriteRSTStream(id, http2.ErrCodeNo)
			return true
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int64
			s := serveFrames(t, 0, func(f *frames) {
				for id := f.request(); id != 0; id = f.request() {
					requests.Add(1)
					if !test.answer(f, id) {
						return
					}
				}
			})
			// One at a time: of two on a connection that the server closes, which of them it
			// has read is a matter of luck.
			r := trip{url: s.url, rate: 4, length: 250 * time.Millisecond, options: Options{Engine: H2}}.run(t)
			want := map[string]uint64{test.want: 1}
			if test.want == "" {
				if r.tally.Good != 1 {
					t.Errorf("good %d, failed by %v, timeout %d: want it good", r.tally.Good, r.tally.FailedBy, r.tally.Timeout)
				}
			} else if !maps.Equal(r.tally.FailedBy, want) {
				t.Errorf("failed by %v, good %d, timeout %d: want %v", r.tally.FailedBy, r.tally.Good, r.tally.Timeout, want)
			}
			if requests.Load() != 1 {
				t.Errorf("the server saw %d requests: want it once", requests.Load())
			}
		})
	}
}

// Requests beyond the streams that the server allows wait here, on one connection,
// or have further ones opened.
func TestH2StreamLimit(t *testing.T) {
	for name, most := range map[string]int{"one connection": 1, "as many as needed": 0} {
		t.Run(name, func(t *testing.T) {
			var over atomic.Int64
			s := serveFrames(t, 5, func(f *frames) {
				var open atomic.Int64
				for id := f.request(); id != 0; id = f.request() {
					if open.Add(1) > 5 {
						over.Add(1)
					}
					time.Sleep(10 * time.Millisecond) // one after the other: 100/s
					open.Add(-1)
					f.head(id, true, "200")
				}
			})
			r := trip{
				url: s.url, rate: 400, length: 100 * time.Millisecond,
				options: Options{Engine: H2, HTTP: HTTP{MaxConns: most}},
			}.run(t)
			if r.tally.Good != 40 || over.Load() != 0 {
				t.Errorf("good %d, failed by %v, %d over the limit: want 40 and none", r.tally.Good, r.tally.FailedBy, over.Load())
			}
			streams := r.stats.Streams
			if most == 1 && (s.connections() != 1 || streams.Limit != 5 || streams.Waits == 0 || streams.WaitMost == 0) {
				t.Errorf("%d connections, %+v: want one whose limit of 5 is named", s.connections(), streams)
			}
			if most == 0 && (s.connections() < 2 || streams.Waits != 0) {
				t.Errorf("%d connections, %+v: want several, and nobody to wait", s.connections(), streams)
			}
		})
	}
}

func TestNotH2(t *testing.T) {
	for name, talk := range map[string]func(*net.TCPConn){
		"http/1.1": answering("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", nil),
		"silent":   untilClosed,
	} {
		t.Run(name, func(t *testing.T) {
			r := trip{
				url: serveRaw(t, talk).url, rate: 100, length: 50 * time.Millisecond,
				options: Options{Engine: H2, HTTP: HTTP{ConnectTimeout: 100 * time.Millisecond}},
			}.run(t)
			want := NotH2
			if name == "silent" {
				want = ConnectTimeout
			}
			if r.tally.FailedBy[want] != 5 {
				t.Errorf("failed by %v: want 5 %s", r.tally.FailedBy, want)
			}
		})
	}
	t.Run("tls without h2", func(t *testing.T) {
		s := httptest.NewUnstartedServer(http.NotFoundHandler())
		s.Config.ErrorLog = log.New(io.Discard, "", 0)
		s.StartTLS()
		t.Cleanup(s.Close)
		r := trip{
			url: s.URL, rate: 100, length: 50 * time.Millisecond,
			options: Options{Engine: H2, HTTP: HTTP{TLS: &tls.Config{InsecureSkipVerify: true}}},
		}.run(t)
		if r.tally.FailedBy[NotH2] != 5 {
			t.Errorf("failed by %v: want 5 %s", r.tally.FailedBy, NotH2)
		}
	})
}

func TestH2Warm(t *testing.T) {
	s := serveFrames(t, 5, func(f *frames) {
		for id := f.request(); id != 0; id = f.request() {
			f.head(id, true, "200")
		}
	})
	d, _, p := trip{url: s.url, rate: 100, length: 100 * time.Millisecond, options: Options{Engine: H2}}.start(t)
	if err := d.Warm(t.Context(), 12); err != nil {
		t.Fatal(err)
	}
	if s := d.Stats(); s.Opened != 3 {
		t.Errorf("opened %d connections for 12 streams of 5 each: want 3", s.Opened)
	}
	if err := d.Run(t.Context(), 0, p); err != nil {
		t.Fatal(err)
	}
	d.Close()
}
