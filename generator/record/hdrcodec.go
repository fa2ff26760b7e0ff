package record

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"time"
)

// HdrHistogram's compressed V2 encoding, in base64 as its logs have it. The
// module's own Encode costs a millisecond and most of a megabyte each time;
// these keep their buffers.
const (
	cookieV2           = 0x1c849303 | 0x10
	cookieV2Compressed = 0x1c849304 | 0x10
	cookieMask         = ^uint32(0xf0)
	headerLen          = 40
	longestVarint      = 9
)

// hdrEncoder writes histograms.
type hdrEncoder struct {
	plain      []byte
	compressed bytes.Buffer
	zlib       *zlib.Writer
}

// append appends the encoding of h to b.
func (e *hdrEncoder) append(b []byte, h *Histogram) []byte {
	p := binary.BigEndian.AppendUint32(e.plain[:0], cookieV2)
	p = binary.BigEndian.AppendUint32(p, 0) // length of the counts, below
	p = binary.BigEndian.AppendUint32(p, 0) // normalizing index offset
	p = binary.BigEndian.AppendUint32(p, digits)
	p = binary.BigEndian.AppendUint64(p, 1) // unit
	p = binary.BigEndian.AppendUint64(p, h.top)
	p = binary.BigEndian.AppendUint64(p, math.Float64bits(1)) // conversion ratio
	next := 0
	for i, n := range h.bins {
		if i > next {
			p = appendZigZag(p, -int64(i-next))
		}
		p = appendZigZag(p, int64(n))
		next = i + 1
	}
	binary.BigEndian.PutUint32(p[4:], uint32(len(p)-headerLen))
	e.plain = p

	e.compressed.Reset()
	e.compressed.Write(make([]byte, 8)) // cookie and length, below
	if e.zlib == nil {
		e.zlib, _ = zlib.NewWriterLevel(&e.compressed, zlib.BestSpeed) // a legal level is no error
	} else {
		e.zlib.Reset(&e.compressed)
	}
	// A bytes.Buffer takes everything.
	_, _ = e.zlib.Write(p)
	_ = e.zlib.Close()
	c := e.compressed.Bytes()
	binary.BigEndian.PutUint32(c, cookieV2Compressed)
	binary.BigEndian.PutUint32(c[4:], uint32(len(c)-8))
	return base64.StdEncoding.AppendEncode(b, c)
}

// appendZigZag appends v in the format's LEB128: seven bits a byte, but eight in
// the ninth.
func appendZigZag(b []byte, v int64) []byte {
	u := uint64(v<<1) ^ uint64(v>>63)
	for range longestVarint - 1 {
		if u < 0x80 {
			return append(b, byte(u))
		}
		b = append(b, byte(u)|0x80)
		u >>= 7
	}
	return append(b, byte(u))
}

// zigZag reads what appendZigZag wrote; n is 0 when b ends within it.
func zigZag(b []byte) (v int64, n int) {
	var u uint64
	for i := range min(len(b), longestVarint) {
		if b[i] < 0x80 || i == longestVarint-1 {
			u |= uint64(b[i]) << (7 * i)
			return int64(u>>1) ^ -int64(u&1), i + 1
		}
		u |= uint64(b[i]&0x7f) << (7 * i)
	}
	return 0, 0
}

// hdrDecoder reads histograms from files that may be damaged. It allocates no
// more than a histogram up to LongestLatency needs, whatever they say.
type hdrDecoder struct {
	compressed []byte
	payload    []byte
	zlib       io.ReadCloser
}

// decode returns the histogram encoded in text.
func (d *hdrDecoder) decode(text string) (*Histogram, error) {
	var err error
	if d.compressed, err = base64.StdEncoding.AppendDecode(d.compressed[:0], []byte(text)); err != nil {
		return nil, err
	}
	c := d.compressed
	if len(c) < 8 || binary.BigEndian.Uint32(c)&cookieMask != cookieV2Compressed&cookieMask {
		return nil, errors.New("not a compressed histogram of version 2")
	}
	if n := binary.BigEndian.Uint32(c[4:]); uint64(n) != uint64(len(c)-8) {
		return nil, fmt.Errorf("compressed length is %d, there are %d bytes", n, len(c)-8)
	}
	if d.zlib == nil {
		d.zlib, err = zlib.NewReader(bytes.NewReader(c[8:]))
	} else {
		err = d.zlib.(zlib.Resetter).Reset(bytes.NewReader(c[8:]), nil)
	}
	if err != nil {
		d.zlib = nil
		return nil, err
	}
	h, length, err := d.header()
	if err != nil {
		return nil, err
	}
	if length > len(h.counts)*longestVarint {
		return nil, fmt.Errorf("%d bytes of counts for %d bins", length, len(h.counts))
	}
	d.payload = append(d.payload[:0], make([]byte, length)...)
	if _, err := io.ReadFull(d.zlib, d.payload); err != nil {
		return nil, fmt.Errorf("counts: %w", err)
	}
	if _, err := io.ReadFull(d.zlib, make([]byte, 1)); err != io.EOF { // verifies the checksum, too
		return nil, errors.New("more bytes than the header says, or a wrong checksum")
	}
	return h, h.fill(d.payload)
}

// header reads the plain header: an empty histogram and the length of its counts.
func (d *hdrDecoder) header() (*Histogram, int, error) {
	var b [headerLen]byte
	if _, err := io.ReadFull(d.zlib, b[:]); err != nil {
		return nil, 0, fmt.Errorf("header: %w", err)
	}
	if binary.BigEndian.Uint32(b[:])&cookieMask != cookieV2&cookieMask {
		return nil, 0, errors.New("not a histogram of version 2")
	}
	if n, unit := binary.BigEndian.Uint32(b[12:]), binary.BigEndian.Uint64(b[16:]); n != digits || unit != 1 {
		return nil, 0, fmt.Errorf("%d significant digits of %d µs: want %d of 1 µs", n, unit, digits)
	}
	top := binary.BigEndian.Uint64(b[24:])
	if top < 1 || top > uint64(LongestLatency/time.Microsecond) {
		return nil, 0, fmt.Errorf("highest value is %d µs: want 1 to %d", top, LongestLatency/time.Microsecond)
	}
	length := int32(binary.BigEndian.Uint32(b[4:]))
	if length < 0 {
		return nil, 0, fmt.Errorf("negative length %d", length)
	}
	return NewHistogram(time.Duration(top) * time.Microsecond), int(length), nil
}

// fill adds the counts of a payload.
func (h *Histogram) fill(payload []byte) error {
	for i := 0; len(payload) > 0; {
		v, n := zigZag(payload)
		if n == 0 {
			return errors.New("counts end within a number")
		}
		payload = payload[n:]
		switch {
		case v < 0 && v != math.MinInt64 && -v <= int64(len(h.counts)-i):
			i += int(-v)
		case v < 0 || i >= len(h.counts):
			return fmt.Errorf("more bins than the %d that the header asks for", len(h.counts))
		case uint64(v) > math.MaxInt64-h.count:
			return errors.New("counts add up to more than 2^63")
		default:
			if v > 0 {
				h.add(i, uint64(v))
			}
			i++
		}
	}
	return nil
}
