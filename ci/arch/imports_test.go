package arch

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// undeclared says which imports within the module do not stand in the table.
// Tests may import what they like.
func undeclared(p *pkg, r row) []string {
	var problems []string
	for _, f := range p.files {
		for _, spec := range f.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			own, ok := strings.CutPrefix(name, module+"/")
			if ok && !r.anything && !slices.Contains(r.imports, own) {
				problems = append(problems, fmt.Sprintf("%s: %s imports %s: DESIGN.md allows %v", p.at(spec), p.dir, own, r.imports))
			}
		}
	}
	return problems
}

func TestImportsStandInTheTable(t *testing.T) {
	rows := designTable(t)
	for _, p := range load(t, root) {
		none(t, undeclared(p, rows[p.dir]))
	}
}

func TestImportRuleCanFail(t *testing.T) {
	p := plant(t, "generator/plan", `package plan

import (
	"fmt"

	"knee/analysis"
	other "knee/target/work"
	"kneecap/analysis"
)
`)
	only(t, undeclared(p, row{imports: []string{"target/work"}}), "generator/plan/planted.go:6: generator/plan imports analysis: DESIGN.md allows [target/work]")
	only(t, undeclared(p, row{}), "imports analysis", "imports target/work")
	none(t, undeclared(p, row{anything: true}))
}
