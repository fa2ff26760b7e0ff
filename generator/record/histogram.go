package record

import (
	"math"
	"math/bits"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
)

// A Histogram counts durations. Its bins are those of an HdrHistogram with a
// unit of one microsecond and three significant digits, and HDR returns it as
// one. It exists beside that package because a run fills and empties a dozen
// histograms every second: recording, adding and clearing here cost in
// proportion to the bins that are in use, not to all that exist.
//
// A Histogram is used by one goroutine at a time.
type Histogram struct {
	counts  []uint64
	used    []uint64 // bit i is set when counts[i] is not 0
	count   uint64
	top     uint64 // the highest value that can be told apart, microseconds
	clamped uint64
}

const (
	digits  = 3    // significant decimal digits
	halfBin = 1024 // half of the bins with a width of one unit: the power of two above 10^digits
	halfLog = 10   // log2 of halfBin
)

// LongestLatency is the highest value that any Histogram tells apart.
const LongestLatency = 24 * time.Hour

// NewHistogram returns an empty histogram for durations up to highest, which is
// kept between a microsecond and LongestLatency. What is longer counts as
// highest, and as Clamped.
func NewHistogram(highest time.Duration) *Histogram {
	h := &Histogram{}
	h.widen(uint64(min(max(highest, time.Microsecond), LongestLatency) / time.Microsecond))
	return h
}

// widen makes room for values up to top microseconds.
func (h *Histogram) widen(top uint64) {
	if top <= h.top {
		return
	}
	h.top = top
	n := (bin(top)/halfBin + 1) * halfBin
	h.counts = append(h.counts, make([]uint64, n-len(h.counts))...)
	h.used = append(h.used, make([]uint64, n/64-len(h.used))...)
}

// bin returns the index of the bin that counts v microseconds.
func bin(v uint64) int {
	shift := bits.Len64(v|(2*halfBin-1)) - (halfLog + 1)
	return shift<<halfLog + int(v>>shift)
}

// highest returns the largest value, in microseconds, that bin i counts.
func highest(i int) uint64 {
	shift := max(i>>halfLog-1, 0)
	return uint64(i-shift<<halfLog+1)<<shift - 1
}

// Record counts d. A negative duration counts as 0.
func (h *Histogram) Record(d time.Duration) {
	if uint64(d) < uint64(time.Microsecond) || d < 0 {
		h.counts[0]++
		h.used[0] |= 1
		h.count++
		return
	}
	v := uint64(d) / uint64(time.Microsecond)
	if v > h.top {
		v = h.top
		h.clamped++
	}
	h.count++
	i := bin(v)
	h.counts[i]++
	h.used[i>>6] |= 1 << (i & 63)
}

// add counts n values of bin i.
func (h *Histogram) add(i int, n uint64) {
	h.counts[i] += n
	h.used[i>>6] |= 1 << (i & 63)
	h.count += n
}

// Add counts everything that o has counted.
func (h *Histogram) Add(o *Histogram) {
	h.widen(o.top)
	h.clamped += o.clamped
	for i, n := range o.bins {
		h.add(i, n)
	}
}

// bins yields the bins in use with their counts, in the order of their values.
func (h *Histogram) bins(yield func(i int, n uint64) bool) {
	for w, word := range h.used {
		for ; word != 0; word &= word - 1 {
			i := w<<6 + bits.TrailingZeros64(word)
			if !yield(i, h.counts[i]) {
				return
			}
		}
	}
}

// reset forgets every value.
func (h *Histogram) reset() {
	for i := range h.bins {
		h.counts[i] = 0
	}
	clear(h.used)
	h.count, h.clamped = 0, 0
}

// Count returns how many values were recorded.
func (h *Histogram) Count() uint64 { return h.count }

// Clamped returns how many of them were longer than the histogram can tell: the
// quantiles at and above the share of the others are lower bounds.
func (h *Histogram) Clamped() uint64 { return h.clamped }

// Quantiles summarises h. A value stands for the longest duration that its bin
// counts, as HdrHistogram reports it.
func (h *Histogram) Quantiles() Quantiles {
	if h.count == 0 {
		return Quantiles{}
	}
	q := Quantiles{Count: int64(h.count)}
	wanted := [...]struct {
		rank uint64
		at   *time.Duration
	}{
		{rank(0.5, h.count), &q.P50},
		{rank(0.9, h.count), &q.P90},
		{rank(0.99, h.count), &q.P99},
		{rank(0.999, h.count), &q.P999},
		{h.count, &q.Max},
	}
	next, seen := 0, uint64(0)
	for i, n := range h.bins {
		seen += n
		for next < len(wanted) && wanted[next].rank <= seen {
			*wanted[next].at = time.Duration(highest(i)) * time.Microsecond
			next++
		}
	}
	return q
}

// Quantile returns the value at or below which share of the values are, for a
// share from 0 to 1; 0 when there are none.
func (h *Histogram) Quantile(share float64) time.Duration {
	wanted, seen := rank(share, h.count), uint64(0)
	for i, n := range h.bins {
		if seen += n; seen >= wanted {
			return time.Duration(highest(i)) * time.Microsecond
		}
	}
	return 0
}

// rank returns which of n values, in their order and from 1, the quantile of
// share is. It rounds as HdrHistogram does.
func rank(share float64, n uint64) uint64 {
	r := math.Floor(share*float64(n) + 0.5)
	switch {
	case !(r >= 1):
		return 1
	case r >= float64(n):
		return n
	}
	return uint64(r)
}

// HDR returns the values as an HdrHistogram, in microseconds.
func (h *Histogram) HDR() *hdr.Histogram {
	out := hdr.New(1, int64(h.top), digits)
	for i, n := range h.bins {
		// The highest value of a bin is within the range: top shares its bin or is above it.
		if err := out.RecordValues(int64(min(highest(i), h.top)), int64(n)); err != nil {
			panic("record: " + err.Error())
		}
	}
	return out
}
