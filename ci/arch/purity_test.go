package arch

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// impureImports are packages of the standard library that a pure package does
// not import, nor anything below them: clocks, goroutines, locks, the network,
// the system, random sources that nobody seeds.
var impureImports = []string{
	"context", "crypto/rand", "expvar", "hash/maphash", "io/fs", "io/ioutil", "log", "math/rand", "net", "os", "path/filepath",
	"plugin", "runtime", "sync", "syscall", "testing", "unique", "weak",
}

// pureModules are packages of other modules that take the time as an argument.
var pureModules = []string{"golang.org/x/time/rate"}

// impureNames are what a pure package does not use of the others.
var impureNames = map[string][]string{
	"time": {"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "NewTimer", "NewTicker", "Tick", "Local", "LoadLocation"},
	// The functions of the package draw from a source that nobody seeds.
	"math/rand/v2": {
		"ExpFloat64", "Float32", "Float64", "Int", "Int32", "Int32N", "Int64", "Int64N", "IntN", "N", "NormFloat64", "Perm", "Shuffle",
		"Uint", "Uint32", "Uint32N", "Uint64", "Uint64N", "UintN",
	},
}

// impure says how a package depends on more than its arguments.
func impure(p *pkg) []string {
	var problems []string
	for _, f := range p.files {
		names := map[string][]string{} // by the name that the file gives the import
		for _, spec := range f.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			if why := impureImport(name); why != "" {
				problems = append(problems, fmt.Sprintf("%s: %s is pure: it may not import %s: %s", p.at(spec), p.dir, name, why))
			}
			if forbidden, ok := impureNames[name]; ok {
				local := path.Base(strings.TrimSuffix(name, "/v2"))
				if spec.Name != nil {
					local = spec.Name.Name
				}
				names[local] = forbidden
				if local == "." {
					problems = append(problems, fmt.Sprintf("%s: %s is pure: it imports %s by name, not with a dot", p.at(spec), p.dir, name))
				}
			}
		}
		problems = append(problems, impureUses(p, f, names)...)
	}
	return problems
}

func impureImport(name string) string {
	first, _, _ := strings.Cut(name, "/")
	if first == module || name == "math/rand/v2" {
		return ""
	}
	if strings.Contains(first, ".") {
		if slices.Contains(pureModules, name) {
			return ""
		}
		return "the standard library is enough"
	}
	for _, f := range impureImports {
		if name == f || strings.HasPrefix(name, f+"/") {
			return "pass in what is needed, as a value"
		}
	}
	return ""
}

func impureUses(p *pkg, f *ast.File, names map[string][]string) []string {
	var problems []string
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			problems = append(problems, fmt.Sprintf("%s: %s is pure: it may not start a goroutine", p.at(n), p.dir))
		case *ast.SelectStmt, *ast.ChanType:
			problems = append(problems, fmt.Sprintf("%s: %s is pure: it may not use channels", p.at(n), p.dir))
		case *ast.SelectorExpr:
			x, ok := n.X.(*ast.Ident)
			if ok && slices.Contains(names[x.Name], n.Sel.Name) {
				problems = append(problems, fmt.Sprintf("%s: %s is pure: it may not use %s.%s: time and random sources are arguments", p.at(n), p.dir, x.Name, n.Sel.Name))
			}
		}
		return true
	})
	return problems
}

func TestPurePackagesArePure(t *testing.T) {
	rows := designTable(t)
	pure := 0
	for _, p := range load(t, root) {
		if rows[p.dir].pure {
			pure++
			none(t, impure(p))
		}
	}
	if pure == 0 {
		t.Error("no package is marked P")
	}
}

// handedIn are packages that are not pure and that pure ones may import: they
// are handed a recorder to write to, or a result to judge.
var handedIn = []string{"generator/record", "analysis"}

// A pure package that imports one that is not is no longer pure.
func TestPurePackagesImportPureOnes(t *testing.T) {
	none(t, impureArrows(designTable(t)))
}

func impureArrows(rows map[string]row) []string {
	var problems []string
	for name, r := range rows {
		for _, i := range r.imports {
			if r.pure && !rows[i].pure && !slices.Contains(handedIn, i) {
				problems = append(problems, fmt.Sprintf("%s is pure and may not import %s, which is not", name, i))
			}
		}
	}
	return problems
}

func TestPurityRuleCanFail(t *testing.T) {
	for name, test := range map[string]struct {
		source string
		want   []string
	}{
		"a clock":                     {"import \"time\"\n\nvar at = time.Now()", []string{"target/order/planted.go:5: target/order is pure: it may not use time.Now"}},
		"a clock under another name":  {"import clock \"time\"\n\nvar at = clock.Now", []string{"may not use clock.Now"}},
		"everything of time":          {"import . \"time\"\n\nvar at = Now()", []string{"by name, not with a dot"}},
		"a lock":                      {"import \"sync\"", []string{"may not import sync"}},
		"an atomic":                   {"import \"sync/atomic\"", []string{"may not import sync/atomic"}},
		"the network":                 {"import \"net/http\"", []string{"may not import net/http"}},
		"the old random source":       {"import \"math/rand\"", []string{"may not import math/rand"}},
		"the global random source":    {"import \"math/rand/v2\"\n\nvar n = rand.IntN(3)", []string{"may not use rand.IntN"}},
		"another module":              {"import \"golang.org/x/sys/unix\"", []string{"the standard library is enough"}},
		"a goroutine":                 {"func f() { go f() }", []string{"may not start a goroutine"}},
		"a channel":                   {"var c chan int", []string{"may not use channels"}},
		"a module that is known":      {"import \"golang.org/x/time/rate\"", nil},
		"durations":                   {"import \"time\"\n\nvar d = 3 * time.Second", nil},
		"a seeded source":             {"import \"math/rand/v2\"\n\nvar r = rand.New(rand.NewPCG(1, 2))", nil},
		"a method of a seeded source": {"import \"math/rand/v2\"\n\nfunc f(r *rand.Rand) int { return r.IntN(3) }", nil},
		"a name that looks alike":     {"import \"sort\"\n\nvar sync, now = sort.Ints, 1", nil},
	} {
		t.Run(name, func(t *testing.T) {
			only(t, impure(plant(t, "target/order", "package order\n\n"+test.source)), test.want...)
		})
	}
	only(t, impureArrows(map[string]row{"a": {pure: true, imports: []string{"b", "c", "generator/record", "analysis"}}, "b": {}, "c": {pure: true}}),
		"a is pure and may not import b")
}
