package arch

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// topLevel is what the top of the tree may hold, beside names that begin with a dot.
var topLevel = []string{
	"analysis", "ci", "cmd", "generator", "profiles", "target", "tui",
	"CHANGELOG.md", "CONTRIBUTING.md", "DESIGN.md", "LICENSE", "README.md", "go.mod", "go.sum",
}

// misplaced says which names do not belong at the top, and which are missing.
func misplaced(names []string) []string {
	var problems []string
	for _, n := range names {
		if !strings.HasPrefix(n, ".") && !slices.Contains(topLevel, n) {
			problems = append(problems, n+" does not belong at the top of the tree: it holds "+strings.Join(topLevel, " "))
		}
	}
	for _, n := range topLevel {
		if !slices.Contains(names, n) {
			problems = append(problems, n+" is missing at the top of the tree")
		}
	}
	return problems
}

// top returns the names at the top of the tree. Where git knows the tree, what it
// is told to ignore is left out.
func top(t *testing.T) []string {
	t.Helper()
	git := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard")
	git.Dir = root
	if out, err := git.Output(); err == nil && len(out) > 0 {
		var names []string
		for line := range strings.Lines(string(out)) {
			name, _, _ := strings.Cut(strings.TrimSpace(line), "/")
			names = append(names, name)
		}
		slices.Sort(names)
		return slices.Compact(names)
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestTopLevel(t *testing.T) {
	none(t, misplaced(top(t)))
}

func TestLayoutRuleCanFail(t *testing.T) {
	none(t, misplaced(append([]string{".ci", ".gitignore"}, topLevel...)))
	only(t, misplaced(append([]string{"pkg", "internal"}, topLevel[1:]...)),
		"pkg does not belong", "internal does not belong", "analysis is missing")
}
