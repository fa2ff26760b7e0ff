package record

import (
	"encoding/binary"
	"time"
)

// kept holds the durations of one population: as a histogram while they come,
// packed, a few kilobytes at most, once they are thought to be complete.
type kept struct {
	histogram *Histogram
	packed    []byte
}

// open returns the histogram to add to.
func (k *kept) open(spare *spares) *Histogram {
	if k.histogram == nil {
		k.histogram = spare.take()
		unpack(k.packed, k.histogram)
		k.packed = nil
	}
	return k.histogram
}

// close packs what is held.
func (k *kept) close(spare *spares) {
	if k.histogram != nil {
		k.packed = pack(k.histogram)
		spare.give(k.histogram)
		k.histogram = nil
	}
}

// addTo adds what is held to sum.
func (k *kept) addTo(sum *Histogram) {
	if k.histogram != nil {
		sum.Add(k.histogram)
	}
	unpack(k.packed, sum)
}

// pack returns h in a form that unpack adds up: its highest value and its
// clamped count, then for each bin in use the distance to the last and the count.
func pack(h *Histogram) []byte {
	b := make([]byte, 0, 256)
	b = binary.AppendUvarint(b, h.top)
	b = binary.AppendUvarint(b, h.clamped)
	last := 0
	for i, n := range h.bins {
		b = binary.AppendUvarint(b, uint64(i-last))
		b = binary.AppendUvarint(b, n)
		last = i
	}
	return append(make([]byte, 0, len(b)), b...)
}

// unpack adds what pack returned to h.
func unpack(packed []byte, h *Histogram) {
	if len(packed) == 0 {
		return
	}
	next := func() uint64 {
		v, n := binary.Uvarint(packed)
		packed = packed[n:]
		return v
	}
	h.widen(next())
	h.clamped += next()
	for i := 0; len(packed) > 0; {
		i += int(next())
		h.add(i, next())
	}
}

// spares are empty histograms to use again.
type spares struct {
	free []*Histogram
}

func (s *spares) take() *Histogram {
	if n := len(s.free); n > 0 {
		h := s.free[n-1]
		s.free = s.free[:n-1]
		return h
	}
	return NewHistogram(time.Second)
}

func (s *spares) give(h *Histogram) {
	h.reset()
	s.free = append(s.free, h)
}
