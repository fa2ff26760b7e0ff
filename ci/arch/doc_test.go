package arch

import (
	"fmt"
	"go/doc"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// undocumented says when the comment of a package is missing, there twice, or
// begins otherwise than its line in the table.
func undocumented(p *pkg, r row) []string {
	var comments []string
	files := p.files
	if len(files) == 0 {
		files = p.tests
	}
	name := files[0].Name.Name
	for _, f := range files {
		if f.Doc != nil {
			comments = append(comments, f.Doc.Text())
		}
	}
	if len(comments) != 1 {
		return []string{fmt.Sprintf("%s has %d package comments, want one", p.dir, len(comments))}
	}
	sentence := new(doc.Package).Synopsis(comments[0])
	intro := "Package " + name + " "
	if name == "main" {
		intro = "Command " + filepath.Base(p.dir) + " "
	}
	rest, ok := strings.CutPrefix(sentence, intro)
	switch {
	case !ok:
		return []string{fmt.Sprintf("%s: its comment begins with %q, want %q", p.dir, sentence, intro)}
	case !strings.HasSuffix(rest, "."):
		return []string{fmt.Sprintf("%s: the first sentence of its comment has no end: %q", p.dir, sentence)}
	case rest != r.doc:
		return []string{fmt.Sprintf("%s: its comment says %q, DESIGN.md %q: want the same", p.dir, rest, r.doc)}
	}
	return nil
}

func TestPackageCommentsStandInTheTable(t *testing.T) {
	rows := designTable(t)
	for _, p := range load(t, root) {
		none(t, undocumented(p, rows[p.dir]))
	}
}

func TestCommentRuleCanFail(t *testing.T) {
	r := row{doc: "draws work: how much."}
	for name, test := range map[string]struct {
		source string
		want   []string
	}{
		"as it should be":  {"// Package work draws work: how much.\n//\n// More of it.\npackage work", nil},
		"none":             {"package work", []string{"has 0 package comments"}},
		"of another name":  {"// Package job draws work: how much.\npackage work", []string{`want "Package work "`}},
		"of another story": {"// Package work makes coffee.\npackage work", []string{`says "makes coffee.", DESIGN.md "draws work: how much."`}},
		"without an end":   {"// Package work draws work: how much\npackage work", []string{"has no end"}},
	} {
		t.Run(name, func(t *testing.T) {
			only(t, undocumented(plant(t, "target/work", test.source), r), test.want...)
		})
	}
	main := plant(t, "cmd/tool", "// Command tool does it.\npackage main")
	none(t, undocumented(main, row{doc: "does it."}))
	main.files = append(main.files, main.files[0])
	only(t, undocumented(main, row{doc: "does it."}), "has 2 package comments")
}

// mentioned finds files and directories of the tree in a document: in backquotes,
// below one of the directories of the top level, without a placeholder. What the
// reader is told to write is not there yet.
var mentioned = regexp.MustCompile("(Write )?`((?:analysis|ci|cmd|generator|profiles|target|tui)/[A-Za-z0-9_./]*)`")

// missing says which files a document mentions that exists says are not there.
func missing(name, text string, exists func(string) bool) []string {
	var problems []string
	for _, m := range mentioned.FindAllStringSubmatch(text, -1) {
		if m[1] == "" && !exists(m[2]) {
			problems = append(problems, fmt.Sprintf("%s mentions %s, which is not there", name, m[2]))
		}
	}
	return problems
}

// documents are the ones that explain the tree as it is.
var documents = []string{"README.md", "DESIGN.md", "CONTRIBUTING.md"}

func TestDocumentsMentionWhatIsThere(t *testing.T) {
	for _, name := range documents {
		none(t, missing(name, document(t, name), func(file string) bool {
			_, err := os.Stat(filepath.Join(root, file))
			return err == nil
		}))
	}
}

func TestMentionRuleCanFail(t *testing.T) {
	text := "See `target/work` and `target/gone.go`, not target/nothing, `go test ./...` or `generator/X`. Write `target/new.go`."
	only(t, missing("A.md", text, func(file string) bool { return file == "target/work" }),
		"A.md mentions target/gone.go", "A.md mentions generator/X")
}

const longestReadme = 150

// tooLong says when a document has more lines than most.
func tooLong(name, text string, most int) []string {
	if n := strings.Count(text, "\n"); n > most {
		return []string{fmt.Sprintf("%s has %d lines, want at most %d: the rest belongs in DESIGN.md", name, n, most)}
	}
	return nil
}

func TestReadmeIsShort(t *testing.T) {
	none(t, tooLong("README.md", document(t, "README.md"), longestReadme))
}

func TestLengthRuleCanFail(t *testing.T) {
	none(t, tooLong("A.md", strings.Repeat("x\n", 150), 150))
	only(t, tooLong("A.md", strings.Repeat("x\n", 151), 150), "A.md has 151 lines, want at most 150")
}
