package record

import (
	"bytes"
	"compress/zlib"
	"encoding/base64"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// durations are spread over the magnitudes, as latencies are.
func durations() *rapid.Generator[time.Duration] {
	return rapid.Custom(func(t *rapid.T) time.Duration {
		return time.Duration(rapid.Int64Range(0, 2000).Draw(t, "mantissa") << rapid.IntRange(0, 26).Draw(t, "shift"))
	})
}

func microseconds(d time.Duration) int64 { return int64(d / time.Microsecond) }

// The oracle is HdrHistogram itself, asked in its own percent.
func TestHistogramAgreesWithHdrHistogram(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		top := rapid.SampledFrom([]time.Duration{300 * time.Millisecond, time.Second, 2 * time.Minute}).Draw(t, "top")
		h, want := NewHistogram(top), hdr.New(1, microseconds(top), 3)
		var beyond uint64
		for _, d := range rapid.SliceOfN(durations(), 0, 200).Draw(t, "values") {
			h.Record(d)
			v := microseconds(d)
			if v > microseconds(top) {
				v = microseconds(top)
				beyond++
			}
			if err := want.RecordValue(v); err != nil {
				t.Fatalf("oracle: %v", err)
			}
		}
		if h.Clamped() != beyond {
			t.Fatalf("clamped is %d, want %d", h.Clamped(), beyond)
		}
		if !h.HDR().Equals(want) {
			t.Fatal("HDR() differs from a histogram of the same values")
		}
		at := func(percent float64) time.Duration {
			return time.Duration(want.ValueAtPercentile(percent)) * time.Microsecond
		}
		if diff := cmp.Diff(Quantiles{
			Count: want.TotalCount(), P50: at(50), P90: at(90), P99: at(99), P999: at(99.9),
			Max: time.Duration(want.Max()) * time.Microsecond,
		}, h.Quantiles()); h.Count() > 0 && diff != "" {
			t.Fatalf("quantiles (-HdrHistogram +ours):\n%s", diff)
		}
		share := rapid.Float64Range(0.001, 1).Draw(t, "share")
		if got := h.Quantile(share); got != at(100*share) && rank(share, h.Count()) == rank(100*share/100, h.Count()) {
			t.Fatalf("quantile %v is %v, HdrHistogram says %v", share, got, at(100*share))
		}
	})
}

func TestHistogramCountsWhatItCannotTell(t *testing.T) {
	h := NewHistogram(time.Second)
	for d, clamped := range map[time.Duration]uint64{
		-time.Second:  0,
		0:             0,
		time.Second:   0,
		time.Minute:   1,
		math.MaxInt64: 1,
	} {
		before := h.Clamped()
		h.Record(d)
		if got := h.Clamped() - before; got != clamped {
			t.Errorf("recording %v clamped %d values, want %d", d, got, clamped)
		}
	}
	if got := h.Quantiles(); got.Count != 5 || got.P50 < time.Second || got.P50 > time.Second+time.Millisecond || got.Max != got.P50 {
		t.Errorf("quantiles are %+v: want 5 values, three of them at the highest of 1s", got)
	}
}

func TestHistogramOfNothing(t *testing.T) {
	h := NewHistogram(time.Second)
	if got := h.Quantiles(); got != (Quantiles{}) {
		t.Errorf("quantiles are %+v, want none", got)
	}
	if got := h.Quantile(0.99); got != 0 {
		t.Errorf("p99 is %v, want 0", got)
	}
}

// filled returns a histogram of values up to 1, 10 or 100 s.
func filled(t *rapid.T, label string) *Histogram {
	h := NewHistogram(time.Second * time.Duration(math.Pow10(rapid.IntRange(0, 2).Draw(t, label+" size"))))
	for _, d := range rapid.SliceOfN(durations(), 0, 100).Draw(t, label) {
		h.Record(d)
	}
	return h
}

func equal(a, b *Histogram) bool {
	a.widen(b.top)
	b.widen(a.top)
	return a.count == b.count && a.clamped == b.clamped && slices.Equal(a.counts, b.counts) && slices.Equal(a.used, b.used)
}

func TestHistogramsAddUpInAnyOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := filled(t, "a"), filled(t, "b")
		ab, ba := NewHistogram(time.Microsecond), NewHistogram(time.Hour)
		ab.Add(a)
		ab.Add(b)
		unpack(pack(b), ba)
		unpack(pack(a), ba)
		if !equal(ab, ba) {
			t.Fatal("a+b differs from packed b + packed a")
		}
		if want := a.Count() + b.Count(); ab.Count() != want {
			t.Fatalf("count is %d, want %d", ab.Count(), want)
		}
		a.reset()
		if !equal(a, NewHistogram(time.Second)) {
			t.Fatal("a histogram that was reset is not empty")
		}
	})
}

func TestHistogramEncoding(t *testing.T) {
	var e hdrEncoder
	var d hdrDecoder
	rapid.Check(t, func(t *rapid.T) {
		h := filled(t, "values")
		h.add(7, uint64(rapid.Uint64Range(1, 1<<61).Draw(t, "many")))
		text := e.append(nil, h)

		theirs, err := hdr.Decode(text)
		if err != nil {
			t.Fatalf("HdrHistogram cannot read it: %v", err)
		}
		if !theirs.Equals(h.HDR()) {
			t.Fatal("HdrHistogram reads other values")
		}
		again, err := d.decode(string(text))
		if err != nil {
			t.Fatal(err)
		}
		again.clamped = h.clamped // travels beside it
		if !equal(again, h) {
			t.Fatal("we read other values")
		}
		encoded, err := h.HDR().Encode(hdr.V2CompressedEncodingCookieBase)
		if err != nil {
			t.Fatal(err)
		}
		if again, err = d.decode(string(encoded)); err != nil {
			t.Fatalf("cannot read what HdrHistogram writes: %v", err)
		}
		again.clamped = h.clamped
		if !equal(again, h) {
			t.Fatal("we read other values from what HdrHistogram writes")
		}
	})
}

func TestHistogramDecodeSaysWhatIsWrong(t *testing.T) {
	h := NewHistogram(time.Second)
	h.Record(time.Millisecond)
	var e hdrEncoder
	good := string(e.append(nil, h))
	// plain returns the encoding of a header and counts that are spoilt.
	plain := func(spoil func([]byte) []byte) string {
		var e hdrEncoder
		e.append(nil, h)
		p := spoil(slices.Clone(e.plain))
		var b bytes.Buffer
		b.Write(make([]byte, 8))
		z := zlib.NewWriter(&b)
		if _, err := z.Write(p); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		c := b.Bytes()
		binary.BigEndian.PutUint32(c, cookieV2Compressed)
		binary.BigEndian.PutUint32(c[4:], uint32(len(c)-8))
		return base64.StdEncoding.EncodeToString(c)
	}
	set := func(at int, value byte) string {
		return plain(func(p []byte) []byte { p[at] = value; return p })
	}
	counts := func(text []byte) string {
		return plain(func(p []byte) []byte {
			binary.BigEndian.PutUint32(p[4:], uint32(len(text)))
			return append(p[:headerLen], text...)
		})
	}
	raw, err := base64.StdEncoding.DecodeString(good)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ text, want string }{
		"not base64":         {"HIST!", "illegal base64"},
		"cut short":          {base64.StdEncoding.EncodeToString(raw[:len(raw)-1]), "compressed length is"},
		"too long":           {base64.StdEncoding.EncodeToString(append(slices.Clone(raw), 0)), "compressed length is"},
		"another cookie":     {set(0, 0), "not a histogram of version 2"},
		"another precision":  {set(15, 2), "2 significant digits"},
		"another unit":       {set(23, 2), "of 2 µs: want 3 of 1 µs"},
		"too wide":           {set(24, 1), "highest value is"},
		"negative length":    {set(4, 0xff), "negative length"},
		"length of a giant":  {set(4, 0x7f), "bytes of counts for"},
		"length too long":    {set(7, 200), "counts: unexpected EOF"},
		"length too short":   {set(7, 1), "more bytes than the header says"},
		"cut number":         {counts([]byte{0x80}), "counts end within a number"},
		"too many bins":      {counts(appendZigZag(appendZigZag(nil, -int64(len(h.counts))), 1)), "more bins than"},
		"too long a gap":     {counts(appendZigZag(nil, -int64(len(h.counts))-1)), "more bins than"},
		"gap of all numbers": {counts(appendZigZag(nil, math.MinInt64)), "more bins than"},
		"too many values":    {counts(appendZigZag(appendZigZag(nil, math.MaxInt64), 1)), "add up to more than 2^63"},
	} {
		t.Run(name, func(t *testing.T) {
			var d hdrDecoder
			if _, err := d.decode(test.text); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error is %v, want it to say %q", err, test.want)
			}
			if again, err := d.decode(good); err != nil || !equal(again, h) {
				t.Errorf("afterwards a good one reads as %v (%v)", again, err)
			}
		})
	}
}

// FuzzHistogramDecode holds that any text is an error or what HdrHistogram reads.
func FuzzHistogramDecode(f *testing.F) {
	var e hdrEncoder
	h := NewHistogram(time.Second)
	f.Add(string(e.append(nil, h)))
	for i := range 50 {
		h.Record(time.Duration(i*i) * time.Millisecond)
	}
	f.Add(string(e.append(nil, h)))
	f.Add("HISTFAAAAB4=")
	var d hdrDecoder
	f.Fuzz(func(t *testing.T, text string) {
		h, err := d.decode(text)
		if err != nil {
			return
		}
		theirs, err := hdr.Decode([]byte(text))
		if err != nil {
			t.Fatalf("we read it, HdrHistogram does not: %v", err)
		}
		if got, want := h.Count(), uint64(theirs.TotalCount()); got != want {
			t.Fatalf("count is %d, HdrHistogram says %d", got, want)
		}
		h.Quantiles()
	})
}
