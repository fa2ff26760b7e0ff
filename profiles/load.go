package profiles

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
)

// Load reads a profile and applies o. A name without a slash, backslash or dot
// is an embedded profile, "-" is o.Stdin, anything else is a file. The error of
// a profile that is wrong is a Faults with everything that is wrong with it.
func Load(name string, o Overrides) (*Profile, error) {
	file, data, err := read(name, o)
	if err != nil {
		return nil, err
	}
	t, faults := parse(file, data)
	if faults != nil {
		return nil, faults
	}
	faults = o.apply(t)
	d := newDecoder(t)
	d.takeUnbuilt()
	p := new(Profile)
	d.decode(t.root, "", reflect.ValueOf(p).Elem())
	if d.bad[""] {
		return nil, append(faults, d.faults...).sorted()
	}
	if !d.has("name") {
		p.Name = strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
	}
	d.readReplay(p, name, o)
	d.complete(p)
	d.validate(p, o)
	if faults = append(faults, d.faults...); len(faults) > 0 {
		return nil, faults.sorted()
	}
	return p, nil
}

// read returns the content of a profile and what to call it in messages.
func read(name string, o Overrides) (file string, data []byte, err error) {
	switch {
	case name == "":
		return "", nil, errors.New("the profile has no name: want an embedded profile, a file or -")
	case name == "-":
		if o.Stdin == nil {
			return "", nil, errors.New("-: there is no standard input: want a file or an embedded profile")
		}
		data, err = readSome(o.Stdin)
		if err != nil {
			return "", nil, fmt.Errorf("<stdin>: %w", err)
		}
		return "<stdin>", data, nil
	case !strings.ContainsAny(name, `/\.`):
		data, err = embedded.ReadFile(name + ".yaml")
		if err != nil {
			known := embeddedNames()
			return "", nil, fmt.Errorf("unknown profile %s%s: known are %s; a file needs a dot or a slash, such as ./%s",
				quote(name), didYouMean(name, known), some(known), name)
		}
		return name + ".yaml", data, nil
	}
	readFile := o.ReadFile
	if readFile == nil {
		readFile = readProfile
	}
	if data, err = readFile(name); err != nil {
		return "", nil, unreadable(name, err)
	}
	return name, data, nil
}

// readProfile reads a file, but no further than a profile may be long.
func readProfile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.IsDir() {
		return nil, errIsDirectory
	}
	return readSome(f)
}

// readSome reads r up to one byte more than a profile may have.
func readSome(r io.Reader) ([]byte, error) { return io.ReadAll(io.LimitReader(r, MaxSize+1)) }

var errIsDirectory = errors.New("is a directory")

// unreadable says why a file cannot be read without naming it twice.
func unreadable(name string, err error) error {
	if path := (*fs.PathError)(nil); errors.As(err, &path) {
		err = path.Err
	}
	switch {
	case errors.Is(err, errIsDirectory):
		return fmt.Errorf("%s: is a directory: want a file", name)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: there is no such file: want a file, or one of the embedded profiles %s", name, some(embeddedNames()))
	}
	return fmt.Errorf("%s: cannot be read: %w", name, err)
}

// some lists profiles, so many that a person still reads them.
func some(names []string) string {
	const most = 12
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + fmt.Sprintf(" and %d more, which knee list profiles shows", len(names)-most)
}
