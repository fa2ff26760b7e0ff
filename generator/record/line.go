package record

import (
	"encoding/json"
	"strconv"
	"time"
)

// Schema is the version of windows.jsonl. Its first line says so; each further
// line is the delta of one window of the run's clock.
const Schema = "knee.windows/v1"

// header is the first line of windows.jsonl.
type header struct {
	Schema     string        `json:"schema"`
	Window     time.Duration `json:"window_ns"`
	HistWindow time.Duration `json:"hist_window_ns"`
	Classes    []string      `json:"classes"`
}

// line is a Delta in windows.jsonl. Counts that are 0 are left out; one that is
// negative takes an attempt back.
type line struct {
	Window *int       `json:"ending"` // window of the run's clock
	Steps  []StepInfo `json:"steps"`  // that began
	Cells  []lineCell `json:"cells"`
	Hists  []lineHist `json:"hists"`
}

type lineCell struct {
	Step       int          `json:"step"`
	Window     int          `json:"planned_window"` // of the step
	Class      int          `json:"class"`
	Planned    int64        `json:"planned"`
	Unsent     int64        `json:"unsent"`
	Withheld   int64        `json:"withheld"`
	Sent       int64        `json:"sent"`
	Good       int64        `json:"good"`
	Degraded   int64        `json:"degraded"`
	Late       int64        `json:"late"`
	Rejected   int64        `json:"rejected"`
	Timeout    int64        `json:"timeout"`
	Failed     int64        `json:"failed"`
	Unfinished int64        `json:"unfinished"`
	Attempts   int64        `json:"attempts"`
	Hedges     int64        `json:"hedges"`
	Reasons    []lineReason `json:"reasons"`
}

type lineReason struct {
	Kind   string `json:"kind"`
	Reason string `json:"reason"`
	Count  uint64 `json:"count"`
}

// lineHist holds histograms in HdrHistogram's compressed V2 encoding, unit 1 µs.
type lineHist struct {
	Step    int               `json:"step"`
	Second  int               `json:"planned_second"` // of the step
	Class   int               `json:"class"`
	Of      map[string]string `json:"of"`      // by population
	Clamped map[string]uint64 `json:"clamped"` // how many of them were longer than the highest value
}

// populationNames are the keys of lineHist.
var populationNames = [Populations]string{"response", "service", "reject", "late", "lag"}

// String returns the name of p, as in files.
func (p Population) String() string {
	if p >= Populations {
		return "unknown"
	}
	return populationNames[p]
}

// appendDelta appends d as a line.
func appendDelta(b []byte, d *Delta, e *hdrEncoder) []byte {
	b = append(b, `{"ending":`...)
	b = strconv.AppendInt(b, int64(d.Window), 10)
	if len(d.Steps) > 0 {
		b = append(b, `,"steps":`...)
		b = appendJSON(b, d.Steps)
	}
	b = appendList(b, "cells", len(d.Cells), func(b []byte, i int) []byte { return appendCell(b, &d.Cells[i]) })
	b = appendList(b, "hists", len(d.Hists), func(b []byte, i int) []byte { return appendHist(b, &d.Hists[i], e) })
	return append(b, "}\n"...)
}

// appendList appends a field that is a list of n elements; nothing for none.
func appendList(b []byte, name string, n int, element func([]byte, int) []byte) []byte {
	if n == 0 {
		return b
	}
	b = append(b, `,"`...)
	b = append(b, name...)
	b = append(b, `":[`...)
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = element(b, i)
	}
	return append(b, ']')
}

func appendCell(b []byte, c *Cell) []byte {
	b = append(b, `{"step":`...)
	b = strconv.AppendInt(b, int64(c.Step), 10)
	b = appendField(b, "planned_window", int64(c.Window))
	b = appendField(b, "class", int64(c.Class))
	for _, f := range [...]struct {
		name  string
		count uint64
	}{
		{"planned", c.Planned},
		{"unsent", c.Unsent},
		{"withheld", c.Withheld},
		{"sent", c.Sent},
		{"good", c.Good},
		{"degraded", c.Degraded},
		{"late", c.Late},
		{"rejected", c.Rejected},
		{"timeout", c.Timeout},
		{"failed", c.Failed},
		{"unfinished", c.Unfinished},
		{"attempts", c.Attempts},
		{"hedges", c.Hedges},
	} {
		if f.count != 0 {
			b = appendField(b, f.name, int64(f.count))
		}
	}
	b = appendList(b, "reasons", len(c.Reasons), func(b []byte, i int) []byte {
		r := &c.Reasons[i]
		b = append(b, `{"kind":"`...)
		b = append(b, r.Kind.String()...)
		b = append(b, `","reason":`...)
		b = appendJSON(b, r.Reason)
		b = appendField(b, "count", int64(r.Count))
		return append(b, '}')
	})
	return append(b, '}')
}

func appendHist(b []byte, h *Hist, e *hdrEncoder) []byte {
	b = append(b, `{"step":`...)
	b = strconv.AppendInt(b, int64(h.Step), 10)
	b = appendField(b, "planned_second", int64(h.Second))
	b = appendField(b, "class", int64(h.Class))
	b = append(b, `,"of":{`...)
	comma := false
	clamped := map[string]uint64{}
	for p, of := range h.Of {
		if of == nil {
			continue
		}
		if comma {
			b = append(b, ',')
		}
		comma = true
		b = append(b, '"')
		b = append(b, populationNames[p]...)
		b = append(b, `":"`...)
		b = e.append(b, of)
		b = append(b, '"')
		if of.clamped > 0 {
			clamped[populationNames[p]] = of.clamped
		}
	}
	b = append(b, '}')
	if len(clamped) > 0 {
		b = append(b, `,"clamped":`...)
		b = appendJSON(b, clamped)
	}
	return append(b, '}')
}

func appendField(b []byte, name string, v int64) []byte {
	b = append(b, `,"`...)
	b = append(b, name...)
	b = append(b, `":`...)
	return strconv.AppendInt(b, v, 10)
}

// appendJSON appends v, which is made of types that can always be marshalled.
func appendJSON(b []byte, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		panic("record: " + err.Error())
	}
	return append(b, text...)
}

// delta returns the delta that a line holds, checked against what s knows, so
// that s can add it up. It is limited to what grows s by a bounded amount.
func (l *line) delta(s *Series, d *hdrDecoder) (*Delta, error) {
	if l.Window == nil {
		return nil, errMissing("ending")
	}
	c := checker{series: s, begun: len(s.steps)}
	c.index("ending", *l.Window, len(s.byEnding)+longestGap)
	out := &Delta{Window: *l.Window, Steps: l.Steps}
	for _, info := range l.Steps {
		c.step(info)
	}
	for i := range l.Cells {
		out.Cells = append(out.Cells, c.cell(&l.Cells[i]))
	}
	for i := range l.Hists {
		out.Hists = append(out.Hists, c.hist(&l.Hists[i], d))
	}
	return out, c.err
}
