package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// documents are those whose commands are run.
var documents = []string{"README.md", "DESIGN.md", "CONTRIBUTING.md", "CHANGELOG.md"}

// A shown command stands in a document, with the output that is shown below it.
type shown struct {
	command
	first, last int    // the lines of the output, as a half-open range
	output      string // "": none is shown
}

// commandsOf returns the knee commands in the code blocks of a document. In a
// block called console, what follows a command is its output.
func commandsOf(lines []string) []shown {
	var found []shown
	block, inside := "", false
	for i := 0; i < len(lines); i++ {
		line := lines[i]
		if language, fence := strings.CutPrefix(line, "```"); fence {
			inside = !inside
			block = language
			continue
		}
		if !inside || block == "go" || block == "yaml" {
			continue
		}
		line, prompted := strings.CutPrefix(line, "$ ")
		if block == "console" && !prompted {
			continue // output
		}
		line = strings.Replace(line, "go run ./cmd/knee", "knee", 1)
		if line != "knee" && !strings.HasPrefix(line, "knee ") {
			continue
		}
		s := shown{command: command{line}, first: i + 1, last: i + 1}
		if block == "console" {
			for s.last < len(lines) && !strings.HasPrefix(lines[s.last], "$ ") && lines[s.last] != "```" {
				s.output += lines[s.last] + "\n"
				s.last++
			}
		}
		found = append(found, s)
	}
	return found
}

func TestCommandsOf(t *testing.T) {
	t.Parallel()
	text := "knee in prose\n```console\n$ knee list\nknee a\nb\n$ go run ./cmd/knee version # c\n```\n" +
		"```go\nknee := 1\n```\n```sh\ngo run ./cmd/knee find\ngo test ./...\n```\n"
	got := commandsOf(strings.Split(text, "\n"))
	if len(got) != 3 || got[0].text != "knee list" || got[0].output != "knee a\nb\n" || got[1].output != "" || got[2].text != "knee find" {
		t.Fatalf("found %+v", got)
	}
	if w := got[1].arguments(); len(w) != 1 || w[0] != "version" {
		t.Errorf("version has the arguments %q", w)
	}
	if w := got[2].arguments(); len(w) != 2 || w[1] != "--virtual" {
		t.Errorf("find has the arguments %q", w)
	}
}

// TestDocuments runs every command of every document. The output shown below a
// command must be what it prints today; -update rewrites it.
func TestDocuments(t *testing.T) {
	t.Parallel()
	pictures := 0
	for _, name := range documents {
		file := filepath.Join("..", "..", name)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		dir := workplace(t)
		lines := strings.Split(string(text), "\n")
		commands := commandsOf(lines)
		binary := "knee"
		if len(commands) > 0 {
			binary = extended(t, string(text))
		}
		for i := len(commands) - 1; i >= 0; i-- { // from the end, so that line numbers stay right
			c := commands[i]
			if c.output != "" {
				pictures++
			}
			if *update && strings.HasPrefix(lines[c.first-1], "$ ") && name == "README.md" {
				printed := strings.Split(strings.TrimSuffix(run(t, dir, binary, c.command), "\n"), "\n")
				lines = append(lines[:c.first:c.first], append(printed, lines[c.last:]...)...)
			}
		}
		if *update {
			if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		for _, c := range commands {
			t.Run(name+"/"+c.text, func(t *testing.T) {
				if c.serves() {
					starts(t, dir, c.command)
					return
				}
				if got := run(t, dir, binary, c.command); c.output != "" && got != c.output {
					t.Errorf("%s shows another output than there is (go test ./cmd/knee -update rewrites it):\n%s", name, got)
				}
			})
		}
	}
	if pictures == 0 && !*update {
		t.Error("no document shows what knee prints")
	}
}

// pluginRE finds a plug-in that a document tells its reader to write.
var pluginRE = regexp.MustCompile("(?s)Write `(target/[a-z]+/[a-z]+\\.go)`.*?\n```go\n(.*?)\n```\n")

// extended returns a knee with the plug-in that a document shows, or the knee
// under test when it shows none.
func extended(t *testing.T, text string) string {
	t.Helper()
	plugin := pluginRE.FindStringSubmatch(text)
	if plugin == nil {
		return "knee"
	}
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("building the plug-in of a document needs the go command")
	}
	dir := t.TempDir()
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	source, binary := filepath.Join(dir, "plugin.go"), filepath.Join(dir, "knee-extended")
	overlay, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, plugin[1]): source}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{source: plugin[2], filepath.Join(dir, "overlay.json"): string(overlay)} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	build := exec.Command(goTool, "build", "-overlay", filepath.Join(dir, "overlay.json"), "-o", binary, "./cmd/knee")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building %s as the document shows it: %v\n%s", plugin[1], err, out)
	}
	return binary
}
