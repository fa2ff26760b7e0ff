package profiles

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// MaxSize is the size in bytes beyond which a profile is not read.
const MaxSize = 1 << 20

// A tree is a profile as it was read, before it means anything: flags change
// it, and the decoder turns it into a Profile. So a value given by a flag goes
// the same way as one of the file.
type tree struct {
	file  string
	root  *yaml.Node            // a mapping, or whatever the file holds in its place
	flags map[*yaml.Node]string // the flag that a node comes from
}

// fault returns a fault at n's place.
func (t *tree) fault(n *yaml.Node, what, want string) *Fault {
	if flag, ok := t.flags[n]; ok {
		return &Fault{Origin: flag, What: what, Want: want}
	}
	return &Fault{Origin: t.file, Line: n.Line, Column: n.Column, What: what, Want: want}
}

// mark notes that n and everything in it comes from a flag.
func (t *tree) mark(n *yaml.Node, flag string) {
	t.flags[n] = flag
	n.Line, n.Column = 0, 0
	for _, c := range n.Content {
		t.mark(c, flag)
	}
}

// parse reads a file of one YAML document.
func parse(file string, data []byte) (*tree, Faults) {
	if len(data) > MaxSize {
		return nil, Faults{{Origin: file, What: "the file is larger than 1 MB", Want: "want a profile of at most 1 MB"}}
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if at := invalidUTF8(data); at >= 0 {
		line, column := place(data, at)
		return nil, Faults{{file, line, column, fmt.Sprintf("the byte 0x%02x is not UTF-8", data[at]), "want a text in UTF-8"}}
	}
	loader, err := yaml.NewLoader(bytes.NewReader(data), yaml.WithUniqueKeys(false))
	if err != nil {
		return nil, Faults{{Origin: file, What: err.Error()}}
	}
	var first, second yaml.Node
	if err := loader.Load(&first); err != nil && !errors.Is(err, io.EOF) {
		return nil, Faults{syntaxFault(file, data, err)}
	}
	if len(first.Content) == 0 || isNull(first.Content[0]) {
		return nil, Faults{{Origin: file, Line: 1, Column: 1, What: "the profile is empty", Want: "want at least a load with phases"}}
	}
	if err := loader.Load(&second); err == nil {
		return nil, Faults{{file, second.Line, second.Column, "a second document starts here", "want one document in a profile"}}
	} else if !errors.Is(err, io.EOF) {
		return nil, Faults{syntaxFault(file, data, err)}
	}
	return &tree{file: file, root: first.Content[0], flags: map[*yaml.Node]string{}}, nil
}

// syntaxFault says what the YAML library found wrong, in our words where its
// own are hard to understand.
func syntaxFault(file string, data []byte, err error) *Fault {
	f := &Fault{Origin: file, What: "not YAML: " + err.Error(), Want: "want a mapping, such as `load: {phases: […]}`"}
	var e *yaml.LoadError
	if !errors.As(err, &e) {
		return f
	}
	f.Line, f.Column, f.What = e.Mark.Line, e.Mark.Column, "not YAML: "+e.Message
	if e.ContextMsg != "" {
		f.What += " " + e.ContextMsg
	}
	if f.Line == 0 {
		f.Line, f.Column = e.ContextMark.Line, e.ContextMark.Column
	}
	lines := strings.Split(string(data), "\n")
	if f.Line < 1 || f.Line > len(lines) {
		return f
	}
	line := lines[f.Line-1]
	indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
	if at := strings.IndexByte(indent, '\t'); at >= 0 {
		f.Column, f.What, f.Want = at+1, "a tab indents this line", "want spaces"
	}
	return f
}

// invalidUTF8 returns the index of the first byte that is not UTF-8, or -1.
func invalidUTF8(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// place returns the line and column, from 1 and in characters, of a byte.
func place(data []byte, at int) (line, column int) {
	before := data[:at]
	start := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte("\n")) + 1, utf8.RuneCount(before[start:]) + 1
}
