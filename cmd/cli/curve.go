package cli

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"knee/analysis/knee"
)

// columns are what a row of a curve may say. The first two it must.
var columns = []string{"offered", "goodput", "intended", "p99_ms"}

// wantCurve says what a curve looks like.
const wantCurve = `want [{"offered":…,"goodput":…}], each with "intended" and "p99_ms" if known, or CSV with these names as its header`

// maxCurve is the largest file read, in bytes.
const maxCurve = 16 << 20

// A curveReader reads a curve measured by any tool and collects what is wrong
// with it, each fault with its place.
type curveReader struct {
	name   string // what errors call the file
	text   []byte
	faults []error
	points []knee.Point
}

// readCurve reads a curve: a JSON array of rows, or CSV with a header.
func readCurve(in io.Reader, name string) ([]knee.Point, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxCurve+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(text) > maxCurve {
		return nil, fmt.Errorf("%s: more than %d MB: want a curve, a row for each load", name, maxCurve>>20)
	}
	c := &curveReader{name: name, text: bytes.TrimPrefix(text, []byte("\ufeff"))}
	switch start := bytes.TrimSpace(c.text); {
	case len(start) == 0:
		return nil, fmt.Errorf("%s: empty: %s", name, wantCurve)
	case !utf8.Valid(start):
		return nil, fmt.Errorf("%s: not a text in UTF-8: %s", name, wantCurve)
	case start[0] == '[' || start[0] == '{':
		c.readJSON()
	default:
		c.readCSV()
	}
	return c.points, c.err()
}

// mostFaults is how many faults of a file are shown.
const mostFaults = 10

func (c *curveReader) err() error {
	if more := len(c.faults) - mostFaults; more > 0 {
		return errors.Join(append(c.faults[:mostFaults:mostFaults], fmt.Errorf("%s: %d more", c.name, more))...)
	}
	return errors.Join(c.faults...)
}

// A position is a line and a column, from 1.
type position struct{ line, column int }

// at returns the position of a byte of the text.
func (c *curveReader) at(offset int) position {
	before := c.text[:min(max(offset, 0), len(c.text))]
	start := bytes.LastIndexByte(before, '\n') + 1
	return position{1 + bytes.Count(before, []byte("\n")), 1 + utf8.RuneCount(before[start:])}
}

func (c *curveReader) fault(p position, format string, args ...any) {
	c.faults = append(c.faults, fmt.Errorf("%s:%d:%d: %s", c.name, p.line, p.column, fmt.Sprintf(format, args...)))
}

// readJSON reads an array of objects.
func (c *curveReader) readJSON() {
	var whole json.RawMessage
	if err := json.Unmarshal(c.text, &whole); err != nil {
		at := len(c.text)
		if wrong := (*json.SyntaxError)(nil); errors.As(err, &wrong) {
			at = int(wrong.Offset) - 1
		}
		c.fault(c.at(at), "not JSON: %v: %s", err, wantCurve)
		return
	}
	d := json.NewDecoder(bytes.NewReader(c.text))
	if open, _ := d.Token(); open != json.Delim('[') {
		c.fault(c.at(int(d.InputOffset())-1), "not an array: %s", wantCurve)
		return
	}
	for d.More() {
		start := int(d.InputOffset())
		start += len(c.text[start:]) - len(bytes.TrimLeft(c.text[start:], ", \t\r\n"))
		var row map[string]json.RawMessage
		if err := d.Decode(&row); err != nil || row == nil {
			c.fault(c.at(start), `want a row such as {"offered":100,"goodput":99}`)
			if err != nil {
				return
			}
			continue
		}
		c.addJSON(c.at(start), row)
	}
}

// addJSON adds a row that is an object and starts at p.
func (c *curveReader) addJSON(p position, row map[string]json.RawMessage) {
	cells := map[string]float64{}
	for _, name := range slices.Sorted(maps.Keys(row)) {
		value := string(row[name])
		switch {
		case !slices.Contains(columns, name):
			c.fault(p, "unknown field %q: known are %s", name, strings.Join(columns, ", "))
		case value != "null":
			c.cell(p, cells, name, value)
		}
	}
	c.add(p, cells)
}

// readCSV reads a header and a row for each line. Columns that knee does not
// know are left alone.
func (c *curveReader) readCSV() {
	r := csv.NewReader(bytes.NewReader(c.text))
	r.TrimLeadingSpace = true
	r.ReuseRecord = true
	var header []string
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			c.faultCSV(err, len(header))
			return
		}
		if header == nil {
			if header = c.header(record); header == nil {
				return
			}
			continue
		}
		cells := map[string]float64{}
		for i, name := range header {
			cell := strings.TrimSpace(record[i])
			if slices.Contains(columns, name) && cell != "" {
				line, column := r.FieldPos(i)
				c.cell(position{line, column}, cells, name, cell)
			}
		}
		line, column := r.FieldPos(0)
		c.add(position{line, column}, cells)
	}
}

// faultCSV adds a fault that the CSV reader found.
func (c *curveReader) faultCSV(err error, cells int) {
	wrong := (*csv.ParseError)(nil)
	switch {
	case !errors.As(err, &wrong):
		c.faults = append(c.faults, fmt.Errorf("%s: %w", c.name, err))
	case errors.Is(wrong.Err, csv.ErrFieldCount):
		c.fault(position{wrong.Line, 1}, "another number of cells than the header: want %d", cells)
	default:
		c.fault(position{wrong.Line, wrong.Column}, "not CSV: %v", wrong.Err)
	}
}

// header returns the names of the columns, nil when some are missing or twice.
func (c *curveReader) header(record []string) []string {
	header := make([]string, len(record))
	for i, name := range record {
		header[i] = strings.ToLower(strings.TrimSpace(name))
	}
	for i, name := range columns {
		n := 0
		for _, h := range header {
			if h == name {
				n++
			}
		}
		switch {
		case n > 1:
			c.fault(position{1, 1}, "%d columns are called %s: want one", n, name)
			return nil
		case n == 0 && i < 2:
			c.fault(position{1, 1}, "no column is called %s: want a header with offered and goodput, and intended and p99_ms if known, separated by commas", name)
			return nil
		}
	}
	return header
}

// cell reads one number.
func (c *curveReader) cell(p position, cells map[string]float64, name, text string) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
		if len(text) > 40 {
			text = text[:40] + "…"
		}
		c.fault(p, "%s is %s: want a number of at least 0", name, text)
	}
	cells[name] = v
}

// add adds the point of a row that starts at p.
func (c *curveReader) add(p position, cells map[string]float64) {
	for _, name := range columns[:2] {
		if _, ok := cells[name]; !ok {
			c.fault(p, "the row has no %s", name)
		}
	}
	c.points = append(c.points, knee.Point{
		Offered:  cells["offered"],
		Goodput:  cells["goodput"],
		Intended: cells["intended"],
		P99:      time.Duration(cells["p99_ms"] * float64(time.Millisecond)),
	})
}
