package profiles

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"knee/generator/plan"
)

// A Replay says when the arrivals of a replay come: at offsets, or so many in
// each stretch of time, evenly spread. Load reads the file into Offsets or
// Counts, so that a loaded profile needs no file any more.
type Replay struct {
	File    string     `yaml:"file,omitempty" doc:"a text with one number on each line, relative to the profile; lines that start with # are comments"`
	Of      string     `yaml:"of,omitempty" doc:"what the file holds: offsets, in seconds or with a unit, or counts; default offsets"`
	Offsets []Duration `yaml:"offsets,omitempty" doc:"instants of the arrivals since the start of the load, in any order, at most 40000"`
	Counts  []int      `yaml:"counts,omitempty" doc:"arrivals in each stretch of time, at most 100000 stretches"`
	Every   Duration   `yaml:"every,omitempty" doc:"length of a stretch of counts, 1ms to 720h; default 1s"`
}

// Bounds of a Replay, which keep a resolved profile below MaxSize.
const (
	maxOffsets = 40_000
	maxCounts  = 100_000
	maxLine    = 200 // characters of a line
)

// replayContents are the values of Replay.Of.
var replayContents = []string{"offsets", "counts"}

// spec returns r as the plan wants it.
func (r *Replay) spec() plan.Replay {
	if r == nil {
		return plan.Replay{}
	}
	spec := plan.Replay{Counts: r.Counts, Every: time.Duration(r.Every)}
	for _, at := range r.Offsets {
		spec.Offsets = append(spec.Offsets, time.Duration(at))
	}
	return spec
}

// peak returns the highest rate in any stretch of counts, or in any second.
func (r *Replay) peak() float64 {
	most, every := 0, time.Second
	if len(r.Counts) > 0 {
		most = slices.Max(r.Counts)
		if r.Every > 0 {
			every = time.Duration(r.Every)
		}
	}
	seconds := map[time.Duration]int{}
	for _, at := range r.Offsets {
		s := time.Duration(at) / time.Second
		seconds[s]++
		most = max(most, seconds[s])
	}
	return float64(most) / every.Seconds()
}

// readReplay reads the file of a replay into its list.
func (d *decoder) readReplay(p *Profile, name string, o Overrides) {
	r := p.Load.Replay
	if r == nil {
		return
	}
	const path = "load.replay"
	if d.has(path+".of") && r.File == "" {
		d.fieldFault(path+".of", r.Of, "nothing: there is no file")
	}
	if r.File == "" {
		return
	}
	file := r.File
	r.File = ""
	if !d.has(path + ".of") {
		r.Of = replayContents[0]
	}
	content := r.Of
	r.Of = ""
	d.oneOf(path+".of", content, replayContents)
	for _, list := range replayContents {
		if d.has(path + "." + list) {
			d.fieldFault(path+"."+list, "given beside a file", "one of both")
		}
	}
	if d.badWithin(path) {
		return
	}
	data, err := readBeside(name, file, o)
	if err != nil {
		d.fieldFault(path+".file", quote(file), err.Error())
		d.bad[path] = true
		return
	}
	parse, limit := r.addOffset, maxOffsets
	if content == "counts" {
		parse, limit = r.addCount, maxCounts
	}
	faults := readList(file, data, parse, limit)
	d.faults = append(d.faults, faults...)
	d.bad[path] = len(faults) > 0
}

// readBeside reads a file whose name is relative to that of a profile. Embedded
// profiles have no files beside them.
func readBeside(profile, file string, o Overrides) ([]byte, error) {
	read := o.ReadFile
	switch {
	case !strings.ContainsAny(profile, `/\.`) && profile != "-":
		return nil, errors.New("offsets or counts in the profile itself: it is an embedded one")
	case read == nil:
		read = readListFile
	}
	if profile != "-" && !filepath.IsAbs(file) {
		file = filepath.Join(filepath.Dir(profile), file)
	}
	data, err := read(file)
	if at := (*fs.PathError)(nil); errors.As(err, &at) {
		err = at.Err
	}
	if err != nil {
		return nil, fmt.Errorf("a file that can be read: %w", err)
	}
	return data, nil
}

func readListFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxCounts*maxLine))
}

// maxListFaults is how many faults of a list are told.
const maxListFaults = 10

// readList reads a text of one number on each line.
func readList(file string, data []byte, add func(string) *valueError, limit int) Faults {
	var faults Faults
	lines := bufio.NewScanner(bytes.NewReader(data))
	n := 0
	for line := 1; lines.Scan() && len(faults) < maxListFaults; line++ {
		text := strings.TrimSpace(lines.Text())
		if text == "" || text[0] == '#' {
			continue
		}
		if n++; n > limit {
			return append(faults, &Fault{file, line, 1, fmt.Sprintf("more than %d numbers", limit), "want fewer, or counts of longer stretches"})
		}
		if err := add(text); err != nil {
			faults = append(faults, &Fault{file, line, 1, "the line is " + err.is, "want " + err.want})
		}
	}
	if err := lines.Err(); err != nil {
		faults = append(faults, &Fault{Origin: file, What: err.Error(), Want: "want one number on each line"})
	}
	if n == 0 && len(faults) == 0 {
		faults = append(faults, &Fault{Origin: file, What: "the file has no numbers", Want: "want one on each line"})
	}
	return faults
}

func (r *Replay) addOffset(text string) *valueError {
	const want = "an offset in seconds such as 1.25, or with a unit such as 1250ms, from 0 to below 720h"
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && numberRE.MatchString(text) {
		if !(seconds >= 0 && seconds < plan.MaxDuration.Seconds()) {
			return &valueError{text, want}
		}
		r.Offsets = append(r.Offsets, Duration(math.Round(seconds*1e9)))
		return nil
	}
	at, err := ParseDuration(text)
	if err != nil || time.Duration(at) >= plan.MaxDuration {
		return &valueError{quote(text), want}
	}
	r.Offsets = append(r.Offsets, at)
	return nil
}

func (r *Replay) addCount(text string) *valueError {
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 {
		return &valueError{quote(text), "a whole number of arrivals of at least 0"}
	}
	r.Counts = append(r.Counts, n)
	return nil
}
