package live

import (
	"errors"
	"strconv"
	"strings"

	"golang.org/x/net/http2"
	"golang.org/x/net/http2/hpack"

	"knee/generator/client"
)

// run reads what comes until the connection ends, while another goroutine writes.
func (c *h2Conn) run() {
	c.t.running.Go(c.write)
	for {
		f, err := c.framer.ReadFrame()
		var stream http2.StreamError
		switch {
		case errors.As(err, &stream):
			c.locked(func() error { return stream })
			continue
		case err != nil:
			var broken http2.ConnectionError
			if errors.As(err, &broken) || errors.Is(err, http2.ErrFrameTooLarge) {
				c.locked(func() error { return http2.ConnectionError(http2.ErrCodeProtocol) })
			}
			_ = c.net.Close()
			c.lost(err)
			return
		}
		c.locked(func() error { return c.frame(f) })
	}
}

// locked does something under the lock, and what follows from its error.
func (c *h2Conn) locked(do func() error) {
	c.t.mu.Lock()
	defer c.t.mu.Unlock()
	err := do()
	if err == nil && c.owed > mostOwed {
		err = http2.ConnectionError(http2.ErrCodeEnhanceYourCalm)
	}
	var one http2.StreamError
	var all http2.ConnectionError
	switch {
	case errors.As(err, &one):
		if s := c.streams[one.StreamID]; s != nil {
			c.reject(s, one.Code, Malformed)
		}
	case errors.As(err, &all) && !c.closing:
		c.abort(http2.ErrCode(all), Malformed)
		c.wake()
	}
}

// frame does what a frame asks for. A StreamError ends its stream, a
// ConnectionError all of them.
func (c *h2Conn) frame(f http2.Frame) error {
	switch f := f.(type) {
	case *http2.HeadersFrame:
		s, err := c.stream(f.StreamID)
		if err != nil {
			return err
		}
		c.head.begin(f.StreamID, s)
		return c.head.take(f.HeaderBlockFragment(), f.HeadersEnded(), f.StreamEnded())
	case *http2.ContinuationFrame:
		return c.head.take(f.HeaderBlockFragment(), f.HeadersEnded(), c.head.ends)
	case *http2.DataFrame:
		return c.data(f)
	case *http2.RSTStreamFrame:
		s, err := c.stream(f.StreamID)
		if s != nil {
			c.finish(s, client.Answer{Result: client.Failed, Reason: h2Kind(f.ErrCode)})
		}
		return err
	case *http2.SettingsFrame:
		if f.IsAck() {
			return nil
		}
		return c.settings(f)
	case *http2.PingFrame:
		if !f.IsAck() {
			c.owed++
			c.control(h2Control{kind: http2.FramePing, data: f.Data})
		}
	case *http2.GoAwayFrame:
		c.goAway(f.LastStreamID, f.ErrCode)
	case *http2.WindowUpdateFrame:
		return c.widen(f.StreamID, int64(f.Increment))
	case *http2.PushPromiseFrame: // which we have not allowed
		return http2.ConnectionError(http2.ErrCodeProtocol)
	}
	return nil
}

// stream returns the stream of this number; nil when it is over. A number that
// was never used breaks the protocol.
func (c *h2Conn) stream(id uint32) (*h2Stream, error) {
	if id%2 == 0 || id >= c.nextID {
		return nil, http2.ConnectionError(http2.ErrCodeProtocol)
	}
	return c.streams[id], nil
}

// begin makes h read the head of an answer, or of its trailer.
func (h *h2Head) begin(id uint32, s *h2Stream) {
	h.id, h.stream, h.size, h.regular, h.fault = id, s, 0, false, ""
	h.trailer = s != nil && s.status != 0
}

// take reads a part of a head.
func (h *h2Head) take(block []byte, whole, ends bool) error {
	c := h.conn
	h.ends = ends
	if c.streams[h.id] != h.stream {
		h.stream = nil // given up while its head came in
	}
	if _, err := h.decoder.Write(block); err != nil {
		if errors.Is(err, hpack.ErrStringLength) && h.stream != nil {
			c.reject(h.stream, http2.ErrCodeProtocol, HeadTooLarge)
		}
		return http2.ConnectionError(http2.ErrCodeCompression)
	}
	if !whole {
		return nil
	}
	if err := h.decoder.Close(); err != nil {
		return http2.ConnectionError(http2.ErrCodeCompression)
	}
	s := h.stream
	switch {
	case s == nil:
	case h.fault != "":
		c.reject(s, http2.ErrCodeProtocol, h.fault)
	case s.status == 0, h.trailer && !ends, ends && s.status < 200:
		c.reject(s, http2.ErrCodeProtocol, Malformed)
	case ends:
		c.answered(s)
	case s.status < 200: // an interim answer
		if s.interim++; s.interim > mostInterim {
			c.reject(s, http2.ErrCodeCancel, TooManyInterim)
			return nil
		}
		s.status, s.length, s.fields = 0, -1, s.fields.reset()
	}
	return nil
}

// field reads one field.
func (h *h2Head) field(f hpack.HeaderField) {
	s := h.stream
	if s == nil || h.fault != "" {
		return
	}
	if h.size += int64(f.Size()); h.size > h.conn.t.options.MaxHead {
		h.fault = HeadTooLarge
		return
	}
	if f.IsPseudo() {
		status, err := strconv.Atoi(f.Value)
		if f.Name != ":status" || err != nil || len(f.Value) != 3 || status < 100 || s.status != 0 || h.regular {
			h.fault = Malformed
			return
		}
		s.status = status
		return
	}
	h.regular = true
	if s.status == 0 || f.Name == "" || f.Name != strings.ToLower(f.Name) {
		h.fault = Malformed
		return
	}
	if f.Name == "content-length" && !h.trailer {
		n, err := strconv.ParseUint(f.Value, 10, 63)
		if err != nil || s.length >= 0 && s.length != int64(n) {
			h.fault = Malformed
			return
		}
		s.length = int64(n)
	}
	if name, ok := h.conn.t.wanted[f.Name]; ok {
		s.fields.add(name, f.Value)
	}
}

// data takes a part of a body.
func (c *h2Conn) data(f *http2.DataFrame) error {
	s, err := c.stream(f.StreamID)
	if err != nil {
		return err
	}
	size := int64(f.Length) // with the padding, which counts as well
	if c.unread += size; c.unread > h2ConnWindow/2 {
		c.control(h2Control{kind: http2.FrameWindowUpdate, room: uint32(c.unread)})
		c.unread = 0
	}
	if s == nil {
		return nil
	}
	body := f.Data()
	if s.status < 200 || s.request.headOnly && len(body) > 0 {
		c.reject(s, http2.ErrCodeProtocol, Malformed)
		return nil
	}
	s.got += int64(len(body))
	c.t.seen.bodyBytes.Add(uint64(len(body)))
	if s.length >= 0 && s.got > s.length {
		c.reject(s, http2.ErrCodeProtocol, Malformed)
		return nil
	}
	if room := c.t.look - len(s.start); room > 0 {
		s.start = append(s.start, body[:min(room, len(body))]...)
	}
	if f.StreamEnded() {
		c.answered(s)
		return nil
	}
	if s.unread += size; s.unread > h2StreamWindow/2 {
		c.control(h2Control{kind: http2.FrameWindowUpdate, id: s.id, room: uint32(s.unread)})
		s.unread = 0
	}
	return nil
}

// settings takes in what the server allows.
func (c *h2Conn) settings(f *http2.SettingsFrame) error {
	if err := f.ForeachSetting(c.setting); err != nil {
		return err
	}
	c.owed++
	c.control(h2Control{kind: http2.FrameSettings})
	return nil
}

func (c *h2Conn) setting(s http2.Setting) error {
	if s.Valid() != nil {
		return http2.ConnectionError(http2.ErrCodeProtocol)
	}
	switch s.ID {
	case http2.SettingMaxConcurrentStreams:
		c.allow(int(min(s.Val, noStreamLimit)))
	case http2.SettingInitialWindowSize:
		more := int64(s.Val) - c.startWindow
		c.startWindow = int64(s.Val)
		for _, s := range c.streams {
			s.window += more
		}
		c.wake()
	case http2.SettingMaxFrameSize:
		c.maxFrame = int(s.Val)
	}
	return nil
}

// mostWindow is the largest window of RFC 9113, section 6.9.1.
const mostWindow = 1<<31 - 1

// widen lets more of a body, or of all of them, be sent.
func (c *h2Conn) widen(id uint32, n int64) error {
	if id == 0 {
		if c.window += n; c.window > mostWindow {
			return http2.ConnectionError(http2.ErrCodeFlowControl)
		}
		c.wake()
		return nil
	}
	s, err := c.stream(id)
	if s == nil {
		return err
	}
	if s.window += n; s.window > mostWindow {
		return http2.StreamError{StreamID: id, Code: http2.ErrCodeFlowControl}
	}
	c.wake()
	return nil
}

// goAway ends the streams that the server will not look at; it takes no further
// ones.
func (c *h2Conn) goAway(last uint32, code http2.ErrCode) {
	kind := goAwayKind(code)
	c.retire(kind)
	for id, s := range c.streams {
		if id > last {
			c.finish(s, client.Answer{Result: client.Failed, Reason: kind})
		}
	}
	if c.active == 0 {
		c.closing = true
		c.wake()
	}
}
