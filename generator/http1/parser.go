// Package http1 is HTTP/1.1 (RFC 9112) as a load generator needs it: requests
// that are prepared once and sent often, and a parser of answers that is given
// bytes as they come, wherever they come from.
package http1

import "bytes"

// Limits bound what an answer may take.
type Limits struct {
	Head    int // bytes of a head, and of the fields after a chunked body; at least 1
	Interim int // interim answers (1xx) before the answer; 0 allows none
	Look    int // bytes of the body to keep
}

// A Parser reads answers, one after the other. It keeps the values of a few header
// fields and the start of the body; everything else it reads and drops. A Parser
// that waits for an answer needs a few hundred bytes.
//
// It accepts what RFC 9112 asks a client to accept: lines that end with a mere
// line feed (but not around chunks), folded lines, no reason phrase, interim
// answers, chunk extensions and trailer fields. It refuses what cannot be
// understood for sure: a garbled status line, a field without a colon or with
// something else than a token before it, control characters, and lengths that are
// no number or contradict each other.
type Parser struct {
	limits Limits
	fields *Fields

	state    state
	headOnly bool
	started  bool
	minor    byte  // of the version
	close    bool  // the connection cannot carry another answer
	status   int16 // 0 until the status line has come
	interim  int
	size     int    // of the head so far
	left     uint64 // bytes of the body, or of the chunk, that are still to come
	bytes    int64  // of the body that came

	part   []byte // of a line whose end has not come
	values []value
	store  []byte // where the values are
	folds  bool   // a line that begins with a space belongs to the last of them
	first  bool   // no field has come yet
	body   []byte
}

// value is the value of a field that is kept: store[from:to].
type value struct {
	field    uint8
	from, to int32
}

// state is what comes next.
type state uint8

const (
	statusLine state = iota
	fieldLine
	lengthBody // bytes whose number is known
	closeBody  // bytes until the connection ends
	chunkLine
	chunkData
	chunkEnd
	trailerLine
	over
)

// Init makes p a parser with these limits that keeps these fields.
func (p *Parser) Init(l Limits, f *Fields) { *p = Parser{limits: l, fields: f, state: over} }

// largestKept is the capacity of the buffers that a resting parser may hold.
const largestKept = 256

// Begin makes p expect an answer; headOnly when it has no body, whatever its head
// says, as it answers a HEAD.
func (p *Parser) Begin(headOnly bool) {
	p.headOnly, p.started = headOnly, false
	p.interim, p.bytes = 0, 0
	if cap(p.body) > largestKept {
		p.body = nil
	}
	p.body = p.body[:0]
	p.beginHead()
}

func (p *Parser) beginHead() {
	p.state, p.status, p.close = statusLine, 0, false
	p.size, p.left = 0, 0
	p.folds, p.first = false, true
	if cap(p.part) > largestKept {
		p.part = nil
	}
	p.part = p.part[:0]
	if cap(p.store) > largestKept {
		p.store = nil
	}
	p.store, p.values = p.store[:0], p.values[:0]
}

// Feed gives p what has come. It returns how much of it belongs to the answer, and
// whether that is complete; after an error, or when it is complete, Begin comes
// next.
func (p *Parser) Feed(b []byte) (n int, done bool, err error) {
	p.started = p.started || len(b) > 0
	rest := b
	for p.state != over {
		if len(rest) == 0 {
			return len(b), false, nil
		}
		switch p.state {
		case lengthBody, chunkData:
			rest = p.takeBody(rest)
		case closeBody:
			p.keep(rest)
			rest = nil
		default:
			if rest, err = p.takeLine(rest); err != nil {
				return len(b) - len(rest), false, err
			}
		}
	}
	return len(b) - len(rest), true, nil
}

// EOF tells p that nothing more will come, and reports whether that completes the
// answer.
func (p *Parser) EOF() bool {
	if p.state == closeBody {
		p.state = over
		return true
	}
	return false
}

// keep counts b as a part of the body, whose start is kept.
func (p *Parser) keep(b []byte) {
	p.bytes += int64(len(b))
	if room := p.limits.Look - len(p.body); room > 0 {
		p.body = append(p.body, b[:min(room, len(b))]...)
	}
}

// takeBody takes a part of known length of the body out of b.
func (p *Parser) takeBody(b []byte) (rest []byte) {
	n := min(p.left, uint64(len(b)))
	p.keep(b[:n])
	p.left -= n
	switch {
	case p.left > 0:
	case p.state == chunkData:
		p.state = chunkEnd
	default:
		p.state = over
	}
	return b[n:]
}

// longestChunkLine bounds the line of a chunk's size with its extensions.
const longestChunkLine = 4096

// takeLine takes a line out of b, or what there is of it.
func (p *Parser) takeLine(b []byte) (rest []byte, err error) {
	end := bytes.IndexByte(b, '\n')
	taken := end + 1
	if end < 0 {
		taken = len(b)
	}
	if p.state == chunkLine || p.state == chunkEnd {
		if len(p.part)+taken > longestChunkLine {
			return b, errChunkLine
		}
	} else if p.size += taken; p.size > p.limits.Head {
		return b, errHead
	}
	if end < 0 {
		p.part = append(p.part, b...)
		return nil, nil
	}
	line := b[:end]
	if len(p.part) > 0 {
		line = append(p.part, line...)
		p.part = line[:0]
	}
	cr := len(line) > 0 && line[len(line)-1] == '\r'
	if cr {
		line = line[:len(line)-1]
	}
	if err := p.line(line, cr); err != nil {
		return b, err
	}
	return b[taken:], nil
}

// line reads a line, which ended with a carriage return if cr.
func (p *Parser) line(line []byte, cr bool) error {
	switch p.state {
	case statusLine:
		return p.statusLine(line)
	case fieldLine:
		if len(line) > 0 {
			return p.field(line, p.fields)
		}
		return p.endHead()
	case chunkLine:
		return p.chunkLine(line, cr)
	case chunkEnd:
		if len(line) > 0 || !cr {
			return errChunkEnd
		}
		p.state = chunkLine
		return nil
	default: // trailerLine
		if len(line) > 0 {
			return p.field(line, nil)
		}
		p.state = over
		return nil
	}
}

// statusLine reads HTTP/1.x SP three digits, then perhaps SP and a reason.
func (p *Parser) statusLine(line []byte) error {
	const version = "HTTP/1."
	if len(line) < len(version)+5 || string(line[:len(version)]) != version {
		return errStatusLine
	}
	p.minor = line[7] - '0'
	code := line[9:12]
	if p.minor > 9 || line[8] != ' ' || len(line) > 12 && line[12] != ' ' {
		return errStatusLine
	}
	status := int16(0)
	for _, c := range code {
		if c < '0' || c > '9' {
			return errStatusLine
		}
		status = status*10 + int16(c-'0')
	}
	if status < 100 {
		return errStatusLine
	}
	p.status, p.state = status, fieldLine
	return nil
}

// field reads the line of a field, and keeps its value if it is one of wanted.
func (p *Parser) field(line []byte, wanted *Fields) error {
	if line[0] == ' ' || line[0] == '\t' {
		return p.fold(line)
	}
	p.first = false
	colon := bytes.IndexByte(line, ':')
	if colon < 0 {
		return errNoColon
	}
	name, text := line[:colon], line[colon+1:]
	if colon == 0 || !consists(name, inName) {
		return errName
	}
	if !consists(text, inValue) {
		return errValue
	}
	p.folds = false
	if wanted == nil {
		return nil
	}
	if i := wanted.find(name); i >= 0 {
		from := len(p.store)
		p.store = append(p.store, trim(text)...)
		p.values = append(p.values, value{uint8(i), int32(from), int32(len(p.store))})
		p.folds = true
	}
	return nil
}

// fold reads a line that continues the field before it.
func (p *Parser) fold(line []byte) error {
	if p.first {
		return errFold
	}
	if !consists(line, inValue) {
		return errValue
	}
	text := trim(line)
	if !p.folds || len(text) == 0 {
		return nil
	}
	last := &p.values[len(p.values)-1]
	if last.to > last.from {
		p.store = append(p.store, ' ')
	}
	p.store = append(p.store, text...)
	last.to = int32(len(p.store))
	return nil
}

// trim returns b without the spaces and tabs around it.
func trim(b []byte) []byte { return bytes.Trim(b, " \t") }

// endHead is the end of a head: it decides where the body ends, by RFC 9112,
// section 6.3.
func (p *Parser) endHead() error {
	framing, err := p.framing()
	if err != nil {
		return err
	}
	switch {
	case p.status < 200 && p.status != 101:
		if p.interim++; p.interim > p.limits.Interim {
			return errInterim
		}
		p.beginHead()
		return nil
	case p.status == 101:
		p.close, p.state = true, over
	case p.headOnly, p.status == 204, p.status == 304:
		p.state = over
	case framing.chunked:
		p.state = chunkLine
		p.close = p.close || framing.length // which may have been put there by somebody in between
		p.size, p.folds, p.first = 0, false, true
	case framing.coded, !framing.length:
		p.close, p.state = true, closeBody
	case p.left == 0:
		p.state = over
	default:
		p.state = lengthBody
	}
	return nil
}

// framing is what a head says of the length of its body.
type framing struct {
	length  bool // there is a Content-Length
	coded   bool // there is a Transfer-Encoding
	chunked bool // whose last coding is chunked
}

// framing reads the fields that frame the message. The length is in p.left then.
func (p *Parser) framing() (f framing, err error) {
	keep := p.minor > 0
	for _, v := range p.values {
		text := p.store[v.from:v.to]
		switch v.field {
		case contentLength:
			n, ok := decimal(text)
			if !ok {
				return f, errLength
			}
			if f.length && n != p.left {
				return f, errLengths
			}
			f.length, p.left = true, n
		case transferEncoding:
			f.coded = true
			last := text[bytes.LastIndexByte(text, ',')+1:]
			f.chunked = isToken(trim(last), "chunked")
		case connection:
			p.close = p.close || hasToken(text, "close")
			keep = keep || hasToken(text, "keep-alive")
		}
	}
	p.close = p.close || !keep
	if p.minor == 0 && f.coded { // RFC 9112, section 6.1: HTTP/1.0 has no transfer codings
		f.coded, f.chunked, p.close = false, false, true
	}
	return f, nil
}

// chunkLine reads the size of a chunk and the extensions that may follow it.
func (p *Parser) chunkLine(line []byte, cr bool) error {
	if !cr || bytes.IndexByte(line, '\r') >= 0 {
		return errChunkSize
	}
	if i := bytes.IndexByte(line, ';'); i >= 0 {
		line = line[:i]
	}
	line = bytes.TrimRight(line, " \t")
	if len(line) == 0 || len(line) > 16 {
		return errChunkSize
	}
	size := uint64(0)
	for _, c := range line {
		digit, ok := hexadecimal(c)
		if !ok {
			return errChunkSize
		}
		size = size<<4 | uint64(digit)
	}
	p.left, p.state = size, chunkData
	if size == 0 {
		p.state = trailerLine
	}
	return nil
}

// Status returns the status of the answer.
func (p *Parser) Status() int { return int(p.status) }

// Value returns the first value of a field, by its canonical name; nil when there
// is none. It is good until Begin.
func (p *Parser) Value(name string) []byte {
	for _, v := range p.values {
		if p.fields.names[v.field] == name {
			return p.store[v.from:v.to:v.to]
		}
	}
	return nil
}

// Has reports whether the field is there.
func (p *Parser) Has(name string) bool {
	for _, v := range p.values {
		if p.fields.names[v.field] == name {
			return true
		}
	}
	return false
}

// Holds reports whether the field is there with this value.
func (p *Parser) Holds(name, text string) bool {
	for _, v := range p.values {
		if p.fields.names[v.field] == name && string(p.store[v.from:v.to]) == text {
			return true
		}
	}
	return false
}

// Body returns the start of the body. It is good until Begin.
func (p *Parser) Body() []byte { return p.body }

// BodyBytes returns how much of the body came, as it stood on the wire but without
// the framing of chunks.
func (p *Parser) BodyBytes() int64 { return p.bytes }

// Started reports whether anything came since Begin.
func (p *Parser) Started() bool { return p.started }

// HeadDone reports whether the head of the answer is complete.
func (p *Parser) HeadDone() bool { return p.state > fieldLine }

// KeepAlive reports whether the connection can carry another answer after this
// one.
func (p *Parser) KeepAlive() bool { return !p.close }
