package record

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// A Run is what the folder of a run holds.
type Run struct {
	Dir     string
	Profile []byte          // profile.yaml; nil when there is none
	Result  json.RawMessage // run.json; nil when the run did not get that far
	Series  *Series         // of a run without result, what was open is ended: see MarkUnfinished
	Events  []Event         // in the order in which they were written
	// Warnings say what is missing or does not add up.
	Warnings []string
}

// Open reads the folder of a run, finished or killed. A last line that was cut
// short is left out, with a warning. Any other line that cannot be read is an
// error that names FILE:LINE.
func Open(dir string) (*Run, error) {
	r := &Run{Dir: dir}
	if err := r.read(); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	return r, nil
}

func (r *Run) read() error {
	var err error
	if r.Profile, err = r.optional(ProfileFile); err != nil {
		return err
	}
	if r.Result, err = r.optional(ResultFile); err != nil {
		return err
	}
	if r.Result != nil && !json.Valid(r.Result) {
		return fmt.Errorf("%s: not JSON", filepath.Join(r.Dir, ResultFile))
	}
	windows, err := os.Open(filepath.Join(r.Dir, WindowsFile))
	if err != nil {
		return fmt.Errorf("%s is not the folder of a run: %w", r.Dir, err)
	}
	defer windows.Close()
	if err := r.readWindows(windows, windows.Name()); err != nil {
		return err
	}
	events, err := os.Open(filepath.Join(r.Dir, EventsFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer events.Close()
	return r.readEvents(events, events.Name())
}

// optional returns the content of a file that need not exist.
func (r *Run) optional(name string) ([]byte, error) {
	content, err := os.ReadFile(filepath.Join(r.Dir, name))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return content, err
}

// ReadWindows rebuilds the series of a run from its windows.jsonl; name is what
// errors and warnings call it. What is open stays open.
func ReadWindows(in io.Reader, name string) (s *Series, warnings []string, err error) {
	r := &Run{}
	if err := r.windows(in, name); err != nil {
		return nil, nil, err
	}
	return r.Series, r.Warnings, nil
}

// readWindows reads the series and settles its accounts.
func (r *Run) readWindows(in io.Reader, name string) error {
	if err := r.windows(in, name); err != nil {
		return err
	}
	if open := r.Series.Total().Open(); open > 0 {
		r.warn("%s: %d originals were open when the records end: they count as unfinished", name, open)
		r.Series.MarkUnfinished()
	}
	for _, step := range r.Series.Steps() {
		if err := step.Total.Conserved(); err != nil {
			r.warn("%s: step %d does not add up: %v", name, step.Info.Index, err)
		}
	}
	return nil
}

func (r *Run) windows(in io.Reader, name string) error {
	var (
		decoder hdrDecoder
		first   = true
	)
	err := r.lines(in, name, func(text []byte) error {
		if first {
			first = false
			return r.header(text)
		}
		var l line
		if err := unmarshal(text, &l); err != nil {
			return err
		}
		d, err := l.delta(r.Series, &decoder)
		if err != nil {
			return err
		}
		r.Series.Add(d)
		return nil
	})
	if err == nil && r.Series == nil {
		err = fmt.Errorf("%s:1: want a header with schema %q", name, Schema)
	}
	return err
}

// mostClasses bounds what a header may ask for.
const mostClasses = 1024

func (r *Run) header(text []byte) error {
	var h header
	// A schema that is newer may have other fields: ask for it first.
	if err := json.Unmarshal(text, &h); err != nil {
		return err
	}
	if h.Schema != Schema {
		return fmt.Errorf("schema is %q: want %q", h.Schema, Schema)
	}
	if h.Window != Window || h.HistWindow != HistWindow {
		return fmt.Errorf("windows are %v and %v: want %v and %v", h.Window, h.HistWindow, Window, HistWindow)
	}
	if len(h.Classes) == 0 || len(h.Classes) > mostClasses {
		return fmt.Errorf("%d classes: want 1 to %d", len(h.Classes), mostClasses)
	}
	r.Series = NewSeries(h.Classes)
	return nil
}

func (r *Run) readEvents(in io.Reader, name string) error {
	return r.lines(in, name, func(text []byte) error {
		var e Event
		if err := unmarshal(text, &e); err != nil {
			return err
		}
		r.Events = append(r.Events, e)
		return nil
	})
}

// longestLine bounds a line; those of a run with many classes are below 1 MB.
const longestLine = 64 << 20

// lines calls each with every whole line and stops at its first error, to which
// it adds the place.
func (r *Run) lines(in io.Reader, name string, each func([]byte) error) error {
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, longestLine)
	scanner.Split(r.wholeLines(name))
	n := 0
	for scanner.Scan() {
		n++
		if err := each(scanner.Bytes()); err != nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	if err := scanner.Err(); err != nil {
		return fmt.Errorf("%s:%d: %w", name, n+1, err)
	}
	return nil
}

// wholeLines splits into lines and leaves out a last one without an end.
func (r *Run) wholeLines(name string) bufio.SplitFunc {
	return func(data []byte, atEOF bool) (int, []byte, error) {
		if i := bytes.IndexByte(data, '\n'); i >= 0 {
			return i + 1, data[:i], nil
		}
		if atEOF && len(data) > 0 {
			r.warn("%s: the last line is cut short: it is left out", name)
			return len(data), nil, nil
		}
		return 0, nil, nil
	}
}

func (r *Run) warn(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

// unmarshal decodes one line strictly.
func unmarshal(text []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return errors.New("more than one JSON value")
	}
	return nil
}
