package cli

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"knee/analysis/knee"
)

// A curveRow is one row of a curve measured by any tool.
type curveRow struct {
	Offered  *float64 `json:"offered"`
	Goodput  *float64 `json:"goodput"`
	Intended *float64 `json:"intended"`
	P99MS    *float64 `json:"p99_ms"`
}

// readCurve reads a curve: a JSON array of rows, or CSV with a header. Each
// fault of the file is reported with its place; name is what errors call it.
func readCurve(in io.Reader, name string) ([]knee.Point, error) {
	text, err := io.ReadAll(io.LimitReader(in, maxCurve+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(text) > maxCurve {
		return nil, fmt.Errorf("%s: more than %d MB: want a curve, a row for each load", name, maxCurve>>20)
	}
	trimmed := bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff")))
	if len(trimmed) == 0 {
		return nil, fmt.Errorf(`%s: empty: want [{"offered":…,"goodput":…}] or CSV with a header`, name)
	}
	var rows []curveRow
	if trimmed[0] == '[' || trimmed[0] == '{' {
		rows, err = jsonRows(trimmed, name)
	} else {
		rows, err = csvRows(trimmed, name)
	}
	if err != nil {
		return nil, err
	}
	return curvePoints(rows, name)
}

// maxCurve is the largest file read, in bytes.
const maxCurve = 16 << 20

func jsonRows(text []byte, name string) ([]curveRow, error) {
	var rows []curveRow
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&rows); err != nil {
		line, column := place(text, d.InputOffset())
		return nil, fmt.Errorf(`%s:%d:%d: %s: want [{"offered":…,"goodput":…}], each with "intended" and "p99_ms" if known`,
			name, line, column, strings.TrimPrefix(err.Error(), "json: "))
	}
	if rest, err := io.ReadAll(d.Buffered()); err != nil || len(bytes.TrimSpace(rest)) > 0 {
		line, column := place(text, d.InputOffset())
		return nil, fmt.Errorf("%s:%d:%d: more after the end of the array: want one array", name, line, column)
	}
	return rows, nil
}

// place returns line and column, from 1, of an offset in text.
func place(text []byte, offset int64) (line, column int) {
	before := text[:min(int(offset), len(text))]
	return 1 + bytes.Count(before, []byte("\n")), len(before) - bytes.LastIndexByte(before, '\n')
}

func csvRows(text []byte, name string) ([]curveRow, error) {
	r := csv.NewReader(bytes.NewReader(text))
	r.TrimLeadingSpace = true
	header, err := r.Read()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	known := []string{"offered", "goodput", "intended", "p99_ms"}
	for i, h := range header {
		header[i] = strings.ToLower(strings.TrimSpace(h))
	}
	for _, need := range known[:2] {
		if !slices.Contains(header, need) {
			return nil, fmt.Errorf("%s:1: no column %s: want a header with offered and goodput, and intended and p99_ms if known", name, need)
		}
	}
	var rows []curveRow
	for {
		record, err := r.Read()
		if errors.Is(err, io.EOF) {
			return rows, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		var row curveRow
		for i, h := range header {
			to := map[string]**float64{"offered": &row.Offered, "goodput": &row.Goodput, "intended": &row.Intended, "p99_ms": &row.P99MS}[h]
			if cell := strings.TrimSpace(record[i]); to != nil && cell != "" {
				v, err := strconv.ParseFloat(cell, 64)
				if err != nil {
					line, column := r.FieldPos(i)
					return nil, fmt.Errorf("%s:%d:%d: %s is %q: want a number", name, line, column, h, cell)
				}
				*to = &v
			}
		}
		rows = append(rows, row)
	}
}

// curvePoints checks rows and turns them into points.
func curvePoints(rows []curveRow, name string) ([]knee.Point, error) {
	points := make([]knee.Point, 0, len(rows))
	var errs []error
	for i, row := range rows {
		for field, v := range map[string]*float64{"offered": row.Offered, "goodput": row.Goodput, "intended": row.Intended, "p99_ms": row.P99MS} {
			if v != nil && (math.IsNaN(*v) || math.IsInf(*v, 0) || *v < 0) {
				errs = append(errs, fmt.Errorf("%s: row %d: %s is %v: want a number of at least 0", name, i+1, field, *v))
			}
		}
		if row.Offered == nil || row.Goodput == nil {
			errs = append(errs, fmt.Errorf("%s: row %d: want offered and goodput", name, i+1))
			continue
		}
		p := knee.Point{Offered: *row.Offered, Goodput: *row.Goodput}
		if row.Intended != nil {
			p.Intended = *row.Intended
		}
		if row.P99MS != nil {
			p.P99 = time.Duration(*row.P99MS * float64(time.Millisecond))
		}
		points = append(points, p)
	}
	return points, errors.Join(errs...)
}
