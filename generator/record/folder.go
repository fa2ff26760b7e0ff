package record

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"
)

// Names of the files of a run.
const (
	ResultFile  = "run.json"
	ProfileFile = "profile.yaml"
	WindowsFile = "windows.jsonl"
	EventsFile  = "events.jsonl"
)

// An Event is something that happened in a run beside its requests: a fault, a
// change, an act, a guard.
type Event struct {
	At     time.Duration     `json:"at_ns"` // on the run's clock
	Kind   string            `json:"kind"`
	Text   string            `json:"text,omitempty"`
	Fields map[string]string `json:"fields,omitempty"`
}

// A Folder writes a run to disk while it goes on. Encoding and writing happen on
// a goroutine of its own; whoever sends never waits for the disk, unless the
// disk falls behind by queued deltas: then Write does. What was written is
// with the operating system at once, so that a run that is killed loses its
// last windows only.
//
// The first error ends all writing; Close returns it.
type Folder struct {
	dir     string
	queue   chan any // *Delta or Event
	done    chan struct{}
	closing sync.Once

	windows, events *os.File

	mu  sync.Mutex
	err error
}

// queued is how many deltas and events may wait for the disk: 25 s of a run on
// the wall clock.
const queued = 128

// CreateOptions are what a run's folder begins with.
type CreateOptions struct {
	Classes []string // names of the classes
	Profile []byte   // profile.yaml: the profile as resolved
}

// Create makes dir the folder of a new run. It creates dir when it does not
// exist, and replaces the files of a run that it holds. It refuses a directory
// that holds other things and no run.
func Create(dir string, o CreateOptions) (*Folder, error) {
	if err := prepare(dir); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, ProfileFile), o.Profile, 0o644); err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	windows, err := os.Create(filepath.Join(dir, WindowsFile))
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	events, err := os.Create(filepath.Join(dir, EventsFile))
	if err != nil {
		return nil, fmt.Errorf("record: %w", errors.Join(err, windows.Close()))
	}
	f := &Folder{dir: dir, queue: make(chan any, queued), done: make(chan struct{}), windows: windows, events: events}
	first := appendJSON(nil, header{Schema: Schema, Window: Window, HistWindow: HistWindow, Classes: o.Classes})
	f.write(windows, append(first, '\n'))
	go f.run()
	return f, nil
}

// prepare makes dir exist, without the files of a run.
func prepare(dir string) error {
	entries, err := os.ReadDir(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		err = os.MkdirAll(dir, 0o755)
	case err == nil && len(entries) > 0:
		err = replace(dir)
	}
	if err != nil {
		return fmt.Errorf("record: %w", err)
	}
	return nil
}

// replace removes the files of the run in dir.
func replace(dir string) error {
	if _, err := os.Stat(filepath.Join(dir, WindowsFile)); err != nil {
		return fmt.Errorf("%s is not empty and holds no %s: want a new or empty directory, or that of a run", dir, WindowsFile)
	}
	// The windows go last: what is left after a failure is still known as a run.
	for _, name := range []string{ResultFile, ProfileFile, EventsFile, WindowsFile} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Dir returns the directory of the run.
func (f *Folder) Dir() string { return f.dir }

// Write appends d to the run and owns it: d is released once it is encoded. It
// is not called after Close.
func (f *Folder) Write(d *Delta) { f.queue <- d }

// Event appends e to the run. It is not called after Close.
func (f *Folder) Event(e Event) { f.queue <- e }

// Close waits until everything is written and closes the files. It returns the
// first error of the run. Further calls return the same.
func (f *Folder) Close() error {
	f.closing.Do(func() {
		close(f.queue)
		<-f.done
		f.fail(f.windows.Close())
		f.fail(f.events.Close())
	})
	return f.Err()
}

// Err returns the first error of writing so far.
func (f *Folder) Err() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.err
}

func (f *Folder) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil && err != nil {
		f.err = fmt.Errorf("record: %w", err)
	}
}

// batchSize is how much is encoded before it is written, unless the queue runs
// empty first.
const batchSize = 64 << 10

// run encodes and writes what is queued.
func (f *Folder) run() {
	defer close(f.done)
	var (
		encoder         hdrEncoder
		windows, events []byte
	)
	for item := range f.queue {
		switch item := item.(type) {
		case *Delta:
			windows = appendDelta(windows, item, &encoder)
			item.Release()
		case Event:
			events = append(appendJSON(events, item), '\n')
		}
		if len(f.queue) == 0 || len(windows)+len(events) >= batchSize {
			f.write(f.windows, windows)
			f.write(f.events, events)
			windows, events = windows[:0], events[:0]
		}
	}
}

// write writes whole lines, unless writing has failed before.
func (f *Folder) write(to *os.File, lines []byte) {
	if len(lines) == 0 || f.Err() != nil {
		return
	}
	_, err := to.Write(lines)
	f.fail(err)
}

// WriteResult writes run.json: v as indented JSON. The file appears complete or
// not at all. It may be called after Close, as a result is known then.
func (f *Folder) WriteResult(v any) error { return WriteResult(f.dir, v) }

// WriteResult writes run.json into the folder of a run that is over.
func WriteResult(dir string, v any) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("record: %s: %w", ResultFile, err)
	}
	if err := writeAtomically(filepath.Join(dir, ResultFile), text.Bytes()); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	return nil
}

// writeAtomically replaces the file called name.
func writeAtomically(name string, content []byte) error {
	temporary, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	_, err = temporary.Write(content)
	err = errors.Join(err, temporary.Chmod(0o644), temporary.Sync(), temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), name)
	}
	if err != nil {
		return errors.Join(err, os.Remove(temporary.Name()))
	}
	return nil
}
