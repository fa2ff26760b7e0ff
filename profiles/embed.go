package profiles

import (
	"embed"
	"slices"
	"strings"
)

//go:embed *.yaml
var embedded embed.FS

// An Entry is one embedded profile.
type Entry struct {
	Name    string
	Doc     string // one line
	Virtual bool   // it has a topology, which only virtual time has
}

// Names returns the embedded profiles, sorted by name.
func Names() ([]Entry, error) {
	var entries []Entry
	for _, name := range embeddedNames() {
		p, err := Load(name, Overrides{})
		if err != nil {
			return nil, err
		}
		entries = append(entries, Entry{Name: name, Doc: p.Doc, Virtual: p.Topology != nil})
	}
	return entries, nil
}

// embeddedNames returns the names of the embedded profiles, sorted.
func embeddedNames() []string {
	files, err := embedded.ReadDir(".")
	if err != nil {
		panic(err) // the root of an embedded file system can be read
	}
	var names []string
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".yaml"))
	}
	slices.Sort(names) // criticality before criticality-lost: files are in another order
	return names
}
