package main

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const costVerb = "cost"

// A command is a knee command line of a document or a help text.
type command struct{ text string }

// words are the arguments after knee, without a comment.
func (c command) words() []string {
	text, _, _ := strings.Cut(c.text, " #")
	return strings.Fields(text)[1:]
}

// serves says whether the command goes on until it is stopped, takes real time,
// or wants a server outside.
func (c command) serves() bool {
	w := c.words()
	return strings.Contains(c.text, "--url") || len(w) > 0 && (w[0] == "serve" || w[0] == "doctor")
}

// long says whether the command takes minutes, and none of them in virtual time.
func (c command) long() bool {
	return c.words()[0] == costVerb && !strings.Contains(c.text, "--virtual")
}

// arguments are the words, in virtual time where load is offered.
func (c command) arguments() []string {
	w := c.words()
	if len(w) > 0 && (w[0] == "find" || w[0] == "run" || w[0] == "gate") && !strings.Contains(c.text, "--help") && !strings.Contains(c.text, "--virtual") {
		w = append(w, "--virtual")
	}
	return w
}

// workplace returns a folder with the files that documents and examples name.
func workplace(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	surge, err := os.ReadFile("../../profiles/bounded-queue.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"surge.yaml": string(surge),
		"curve.json": `[{"offered":100,"goodput":100},{"offered":200,"goodput":200},{"offered":400,"goodput":250},{"offered":2500,"goodput":250}]`,
		"curve.csv":  "offered,goodput\n100,100\n200,200\n400,250\n2500,250\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, run := range []string{"run1", "run2"} {
		if out, stderr, code := knee(t, dir, "run", "bounded-queue", "--virtual", "--quiet", "--out", run); code != 0 {
			t.Fatalf("exit code %d: %s%s", code, out, stderr)
		}
	}
	return dir
}

// verbs returns the verbs that the help lists.
func verbs(t *testing.T) []string {
	t.Helper()
	help, _, _ := knee(t, ".", "--help")
	_, list, _ := strings.Cut(help, "Available Commands:\n")
	var names []string
	for line := range strings.Lines(list) {
		if strings.TrimSpace(line) == "" {
			break
		}
		names = append(names, strings.Fields(line)[0])
	}
	if len(names) < 9 {
		t.Fatalf("the help lists the verbs %v", names)
	}
	return names
}

func TestExamplesOfEveryVerb(t *testing.T) {
	t.Parallel()
	dir := workplace(t)
	help, _, _ := knee(t, ".", "--help")
	texts := map[string]string{"knee": help}
	for _, verb := range verbs(t) {
		text, stderr, code := knee(t, ".", verb, "--help")
		if code != 0 {
			t.Errorf("knee %s --help: exit code %d: %s", verb, code, stderr)
		}
		if verb != "help" && verb != "completion" {
			texts[verb] = text
		}
	}
	for verb, text := range texts {
		_, examples, _ := strings.Cut(text, "Examples:\n")
		examples, _, _ = strings.Cut(examples, "\n\n")
		if examples == "" {
			t.Errorf("%s has no examples", verb)
		}
		for line := range strings.Lines(examples) {
			c := command{strings.TrimSpace(line)}
			if before, after, piped := strings.Cut(c.text, " | "); piped && !strings.HasPrefix(before, "knee ") {
				c.text = after + " < curve.csv" // of the tool before it
			}
			t.Run(c.text, func(t *testing.T) {
				if !strings.HasPrefix(c.text, "knee ") {
					t.Fatal("not a command of knee")
				}
				if c.serves() {
					starts(t, dir, c)
					return
				}
				if c.long() {
					begins(t, dir, c)
					return
				}
				run(t, dir, "knee", c)
			})
		}
	}
}

// run holds that a command ends with an answer, and returns what it prints.
func run(t *testing.T, dir, binary string, c command) (stdout string) {
	t.Helper()
	var out, errs bytes.Buffer
	args, file, redirected := strings.Cut(strings.Join(c.arguments(), " "), " < ")
	cmd := exec.Command(binary, strings.Fields(args)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
	if redirected {
		in, err := os.Open(filepath.Join(dir, file))
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		cmd.Stdin = in
	}
	err := cmd.Run()
	if code := cmd.ProcessState.ExitCode(); err != nil && code != 1 || out.Len() == 0 {
		t.Errorf("%s: %v: %s", c.text, err, errs.String())
	}
	return out.String()
}

// starts holds that a command that is not carried out gets as far as the
// address: its flags and its profile are right.
func starts(t *testing.T, dir string, c command) {
	t.Helper()
	args, want := c.words(), 3
	switch args[0] {
	case "serve":
		args = append(args, "--listen", "nowhere")
	case "doctor":
		args, want = append(args, "--help"), 0
	default:
		args = append(args, "--url", "http://127.0.0.1:1/")
		if at := slices.Index(args, "--pid"); at >= 0 {
			args[at+1] = strconv.Itoa(os.Getpid())
		}
	}
	if _, stderr, code := knee(t, dir, args...); code != want {
		t.Errorf("%s: exit code %d, want %d: %s", c.text, code, want, stderr)
	}
}

// begins holds that a command gets as far as its load, and stops it there.
func begins(t *testing.T, dir string, c command) {
	t.Helper()
	cmd := exec.Command("knee", c.words()...)
	cmd.Dir = dir
	progress, err := cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var said []string
	for lines := bufio.NewScanner(progress); lines.Scan(); {
		said = append(said, lines.Text())
		if strings.Contains(lines.Text(), "of load") {
			cmd.Process.Signal(os.Interrupt)
		}
	}
	cmd.Wait()
	if code := cmd.ProcessState.ExitCode(); code != 130 {
		t.Errorf("%s: exit code %d after an interrupt, want 130: %s", c.text, code, strings.Join(said, "\n"))
	}
}
