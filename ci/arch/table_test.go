package arch

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

// row is what the package table of DESIGN.md says of one package.
type row struct {
	pure     bool
	anything bool     // it may import every package of the module
	imports  []string // packages of the module that it may import
	doc      string   // the first sentence of its comment, without "Package name"
}

// table reads the package table: the one whose header begins with "package".
// Its columns are package, P for pure, imports and what it is.
func table(text string) (map[string]row, []string) {
	rows, problems := map[string]row{}, []string(nil)
	in := false
	for line := range strings.Lines(text) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		switch {
		case !strings.HasPrefix(line, "|"):
			in = false
		case cells[0] == "package":
			in = true
		case !in || strings.HasPrefix(cells[0], "---"):
		case len(cells) != 4:
			problems = append(problems, fmt.Sprintf("DESIGN.md: %q has %d columns, want 4", line, len(cells)))
		default:
			name := strings.Trim(cells[0], "`")
			if _, twice := rows[name]; twice {
				problems = append(problems, "DESIGN.md: two lines for "+name)
			}
			rows[name] = newRow(cells)
		}
	}
	if len(rows) == 0 {
		problems = append(problems, "DESIGN.md: no table with a header that begins with \"package\"")
	}
	return rows, problems
}

func newRow(cells []string) row {
	r := row{pure: cells[1] == "P", doc: cells[3]}
	switch imports := strings.ReplaceAll(cells[2], "`", ""); imports {
	case "–":
	case "anything":
		r.anything = true
	default:
		r.imports = strings.Fields(imports)
	}
	return r
}

// complete says which packages have no line, which lines no package, and which
// lines allow an import of what is not there.
func complete(rows map[string]row, pkgs []*pkg) []string {
	var problems []string
	found := map[string]bool{}
	for _, p := range pkgs {
		found[p.dir] = true
		if _, ok := rows[p.dir]; !ok {
			problems = append(problems, p.dir+" has no line in the package table of DESIGN.md")
		}
	}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		if !found[name] {
			problems = append(problems, "DESIGN.md has a line for "+name+", which is not there")
		}
		for _, i := range rows[name].imports {
			if !found[i] {
				problems = append(problems, fmt.Sprintf("DESIGN.md lets %s import %s, which is not there", name, i))
			}
		}
	}
	return problems
}

func designTable(t *testing.T) map[string]row {
	t.Helper()
	rows, problems := table(document(t, "DESIGN.md"))
	none(t, problems)
	return rows
}

func TestTableListsThePackages(t *testing.T) {
	none(t, complete(designTable(t), load(t, root)))
}

const plantedTable = `
| other | table |
|---|---|
| x | y |

| package | | imports | what it is |
|---|---|---|---|
| ` + "`a/one`" + ` | P | – | does one thing. |
| ` + "`a/two`" + ` | | ` + "`a/one` `a/three`" + ` | does another. |
| ` + "`a/all`" + ` | | anything | sees all. |
`

func TestTableRuleCanFail(t *testing.T) {
	rows, problems := table(plantedTable)
	none(t, problems)
	if len(rows) != 3 || !rows["a/one"].pure || rows["a/two"].pure || !rows["a/all"].anything || rows["a/two"].doc != "does another." {
		t.Fatalf("the table reads as %+v", rows)
	}
	only(t, complete(rows, []*pkg{{dir: "a/one"}, {dir: "a/two"}, {dir: "a/new"}}),
		"a/new has no line",
		"a line for a/all, which is not there",
		"lets a/two import a/three, which is not there",
	)
	_, problems = table("nothing")
	only(t, problems, "no table")
	_, problems = table("| package | | imports | what it is |\n|---|---|---|---|\n| `x` | too few |\n")
	only(t, problems, "has 2 columns", "no table")
	_, problems = table(plantedTable + "| `a/one` | | – | again. |\n")
	only(t, problems, "two lines for a/one")
}
