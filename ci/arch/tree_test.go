// Package arch holds the rules of the code's structure, as tests: which package
// may import which, what a pure package may not touch, and that the documents
// say what is there.
//
// Each rule is a function from what it looks at to a list of what is wrong. It
// is tested twice: on this module, where it finds nothing, and on a planted
// mistake, which it finds.
package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const (
	root   = "../.."
	module = "knee"
)

// A pkg is one directory of Go files.
type pkg struct {
	dir   string // relative to the module, with slashes
	files []*ast.File
	tests []*ast.File
	fset  *token.FileSet
}

// load parses all packages below dir. It looks at every file, whatever system it
// is for.
func load(t *testing.T, dir string) []*pkg {
	t.Helper()
	var all []*pkg
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil || !e.IsDir() {
			return err
		}
		if base := e.Name(); name != dir && (strings.HasPrefix(base, ".") || base == "testdata") {
			return filepath.SkipDir
		}
		p, err := parse(name)
		if err != nil || len(p.files)+len(p.tests) == 0 {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		p.dir = filepath.ToSlash(rel)
		all = append(all, p)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 {
		t.Fatalf("no Go files below %s", dir)
	}
	return all
}

func parse(dir string) (*pkg, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	p := &pkg{fset: token.NewFileSet()}
	for _, name := range names {
		f, err := parser.ParseFile(p.fset, name, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		if strings.HasSuffix(name, "_test.go") {
			p.tests = append(p.tests, f)
		} else {
			p.files = append(p.files, f)
		}
	}
	return p, nil
}

// at returns where n is, for messages.
func (p *pkg) at(n ast.Node) string {
	pos := p.fset.Position(n.Pos())
	return path.Join(p.dir, filepath.Base(pos.Filename)) + ":" + strconv.Itoa(pos.Line)
}

// plant returns the package dir with one file of source.
func plant(t *testing.T, dir, source string) *pkg {
	t.Helper()
	p := &pkg{dir: dir, fset: token.NewFileSet()}
	f, err := parser.ParseFile(p.fset, "planted.go", source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	p.files = append(p.files, f)
	return p
}

// none fails with each problem.
func none(t *testing.T, problems []string) {
	t.Helper()
	for _, p := range problems {
		t.Error(p)
	}
}

// only fails unless there is one problem for each of want, in order, that says it.
func only(t *testing.T, problems []string, want ...string) {
	t.Helper()
	if len(problems) != len(want) {
		t.Fatalf("problems are %q, want %d of them", problems, len(want))
	}
	for i := range want {
		if !strings.Contains(problems[i], want[i]) {
			t.Errorf("problem is %q, want it to say %q", problems[i], want[i])
		}
	}
}

// document returns a file of the top level.
func document(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
