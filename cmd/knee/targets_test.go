package main

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
)

// steady is a profile that sends 20 requests, evenly spaced.
const steady = "name: p\nclient: {timeout: 5s}\nload: {arrivals: constant, phases: [{kind: hold, rate: 40/s, for: 500ms}]}\n"

// A recorder is a server that keeps what it is sent.
type recorder struct {
	*httptest.Server
	mu   sync.Mutex
	seen []string // method, path, fields of interest and body, in the order of arrival
}

// record starts a recorder that listens at l, nil for a port of 127.0.0.1.
func record(t *testing.T, l net.Listener) *recorder {
	t.Helper()
	r := &recorder{}
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			t.Error(err)
		}
		words := []string{q.Method, q.Host, q.RequestURI}
		for _, name := range []string{"X-One", "X-Two", "Authorization"} {
			words = append(words, q.Header.Values(name)...)
		}
		if len(body) > 0 {
			words = append(words, string(body))
		}
		r.mu.Lock()
		defer r.mu.Unlock()
		r.seen = append(r.seen, strings.Join(words, " "))
	}))
	if l != nil {
		r.Server.Listener.Close()
		r.Server.Listener = l
	}
	r.Start()
	t.Cleanup(r.Close)
	return r
}

// take returns what was sent, and forgets it.
func (r *recorder) take() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := r.seen
	r.seen = nil
	return seen
}

// counted says how often each text is there, HOST being that of r.
func (r *recorder) counted(texts []string) map[string]int {
	n := map[string]int{}
	for _, s := range texts {
		n[strings.ReplaceAll(s, r.host(), "HOST")]++
	}
	return n
}

func (r *recorder) host() string { return r.Listener.Addr().String() }

// files writes files into a new folder.
func files(t *testing.T, texts map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range texts {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// sends runs the steady profile with these flags, and returns its result.
func sends(t *testing.T, dir string, flags ...string) result {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "p.yaml"), []byte(steady), 0o644); err != nil {
		t.Fatal(err)
	}
	out, stderr, code := knee(t, dir, append([]string{"run", "./p.yaml", "--format", "json"}, flags...)...)
	if code != 0 {
		t.Fatalf("exit code %d: %s%s", code, out, stderr)
	}
	var r result
	strict(t, out, &r)
	return r
}

// TestTargetsOnTheWire holds that the requests of a file are sent as they stand
// there, as often as their weights say.
func TestTargetsOnTheWire(t *testing.T) {
	t.Parallel()
	one, two := record(t, nil), record(t, nil)
	dir := files(t, map[string]string{
		"body.json": `{"a": 1}`,
		"whole.http": strings.NewReplacer("ONE", one.URL, "TWO", two.URL).Replace(`# weight: 3
GET ONE/a%20b/../c?x=%31&y#fragment
X-One: first
X-One: second

POST TWO/orders
X-Two: own
@body.json
`),
		"paths.http": "GET /a\n\nPUT /b\n@body.json\n",
		"json": fmt.Sprintf(`{"method": "POST", "url": "%s/j", "header": {"X-Two": ["own"]}, "body": "aGVsbG8="}
{"method": "DELETE", "url": "%s/d", "header": {"Host": ["other.example"]}, "weight": 4}
`, one.URL, one.URL),
	})
	for _, c := range []struct {
		name     string
		flags    []string
		one, two map[string]int
	}{
		{
			"weights, fields and a body",
			[]string{"--targets", "whole.http"},
			map[string]int{"GET HOST /a%20b/../c?x=%31&y first second": 15},
			map[string]int{`POST HOST /orders own {"a": 1}`: 5},
		},
		{
			"fields of flags come first",
			[]string{"--targets", "whole.http", "-H", "X-One: flag", "-H", "X-Two: flag"},
			map[string]int{"GET HOST /a%20b/../c?x=%31&y flag first second flag": 15},
			map[string]int{`POST HOST /orders flag flag own {"a": 1}`: 5},
		},
		{
			"paths of a server",
			[]string{"--targets", "paths.http", "--url", strings.Replace(one.URL, "//", "//me:hidden@", 1)},
			map[string]int{"GET HOST /a Basic bWU6aGlkZGVu": 10, `PUT HOST /b Basic bWU6aGlkZGVu {"a": 1}`: 10},
			nil,
		},
		{
			"JSON",
			[]string{"--targets", "json"},
			map[string]int{"POST HOST /j own hello": 4, "DELETE other.example /d": 16},
			nil,
		},
		{
			"connections go elsewhere",
			[]string{"--targets", "json", "--connect-to", ":" + port(one) + "::" + port(two)},
			nil,
			map[string]int{"POST " + one.host() + " /j own hello": 4, "DELETE other.example /d": 16},
		},
		{
			"a name that does not exist",
			[]string{"--url", "http://shop.invalid/x", "--connect-to", "shop.invalid:80:127.0.0.1:" + port(two)},
			nil,
			map[string]int{"GET shop.invalid /x": 20},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, engine := range []string{"auto", "nethttp"} {
				r := sends(t, dir, append(c.flags, "--engine", engine)...)
				if n := r.Steps[0].Counts["good"]; n != 20 {
					t.Errorf("%s: %v good, want 20", engine, r.Steps[0].Counts)
				}
				if got := one.counted(one.take()); !maps.Equal(got, c.one) {
					t.Errorf("%s: the first server saw %v, want %v", engine, got, c.one)
				}
				if got := two.counted(two.take()); !maps.Equal(got, c.two) {
					t.Errorf("%s: the second server saw %v, want %v", engine, got, c.two)
				}
			}
		})
	}
}

func port(r *recorder) string {
	_, port, _ := net.SplitHostPort(r.host())
	return port
}

// TestTargetsOfTheHelp holds that the files of the help can be sent.
func TestTargetsOfTheHelp(t *testing.T) {
	t.Parallel()
	server := record(t, nil)
	help, _, _ := knee(t, ".", "help", "targets")
	var blocks []string
	open := false
	for line := range strings.Lines(help) {
		text, indented := strings.CutPrefix(line, "  ")
		switch blank := strings.TrimSpace(line) == ""; {
		case indented && !open:
			blocks = append(blocks, text)
		case indented || open && blank:
			blocks[len(blocks)-1] += text
		}
		open = indented || open && strings.TrimSpace(line) == ""
	}
	want := []struct {
		flags []string
		seen  int // different requests
	}{{nil, 2}, {nil, 2}, {[]string{"--url", server.URL}, 2}, {[]string{"--template"}, 20}}
	if len(blocks) != len(want) {
		t.Fatalf("the help shows %d files, want %d: %q", len(blocks), len(want), blocks)
	}
	for i, block := range blocks {
		dir := files(t, map[string]string{"f": strings.ReplaceAll(block, "http://127.0.0.1:8080", server.URL), "order.json": "{}"})
		sends(t, dir, append(want[i].flags, "--targets", "f")...)
		if got := server.counted(server.take()); len(got) != want[i].seen {
			t.Errorf("%s\nsent %v, want %d different requests", block, got, want[i].seen)
		}
	}
}

// TestTargetsFromStdin holds that - is stdin, as for vegeta.
func TestTargetsFromStdin(t *testing.T) {
	t.Parallel()
	server := record(t, nil)
	cmd := exec.Command("knee", "run", "./p.yaml", "--targets", "-", "--quiet")
	cmd.Dir = files(t, map[string]string{"p.yaml": steady})
	cmd.Stdin = strings.NewReader("GET " + server.URL + "/in\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if got := server.counted(server.take()); !maps.Equal(got, map[string]int{"GET HOST /in": 20}) {
		t.Errorf("the server saw %v", got)
	}
}

// TestTemplatesRepeat holds that placeholders are filled in, that requests come
// again after so many variants, and that a seed makes the same ones.
func TestTemplatesRepeat(t *testing.T) {
	t.Parallel()
	server := record(t, nil)
	dir := files(t, map[string]string{"t.http": "POST " + server.URL + "/{{seq}}/{{random 1 1000000}}\nX-One: {{uuid}}\n@body\n", "body": "n={{seq}}"})
	one := regexp.MustCompile(`^POST [0-9.:]+ /([1-9]|10)/[0-9]{1,7} [0-9a-f-]{36} n=([1-9]|10)$`)
	once := func(flags ...string) []string {
		sends(t, dir, append(flags, "--variants", "10", "--template")...)
		seen := server.take()
		slices.Sort(seen)
		for _, s := range seen {
			if !one.MatchString(s) {
				t.Errorf("sent: %s", s)
			}
		}
		if n := server.counted(seen); len(n) != 10 || len(seen) != 20 {
			t.Errorf("%d requests of %d kinds, want 20 of 10", len(seen), len(n))
		}
		return seen
	}
	first := once("--targets", "t.http", "--seed", "7")
	if again := once("--targets", "t.http", "--seed", "7"); !slices.Equal(first, again) {
		t.Errorf("the same seed sent %q, then %q", first, again)
	}
	if other := once("--targets", "t.http", "--seed", "8"); slices.Equal(first, other) {
		t.Error("another seed sent the same")
	}
	once("--url", server.URL+"/{{seq}}/{{random 1 1000000}}", "-H", "X-One: {{uuid}}", "--body", "n={{seq}}")
}

// TestUnixSocket holds that all connections go to a socket, and that requests do
// not know of it.
func TestUnixSocket(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("sockets with a path are rare there")
	}
	dir, err := os.MkdirTemp("", "k") // a short path, for the longest is 104 bytes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	l, err := net.Listen("unix", filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	server := record(t, l)
	sends(t, dir, "--url", "http://shop.example/x", "--unix-socket", "s")
	if got, want := server.take(), slices.Repeat([]string{"GET shop.example /x"}, 20); !slices.Equal(got, want) {
		t.Errorf("the server saw %v", got)
	}
}

// TestFindSendsTheTargets holds that all trials of find send what a file says.
func TestFindSendsTheTargets(t *testing.T) {
	t.Parallel()
	server := record(t, nil)
	dir := files(t, map[string]string{"t": "GET " + server.URL + "/a\n\nPOST " + server.URL + "/b\n@t\n"})
	out, stderr, code := knee(t, dir, "find", "--targets", "t", "--max", "60/s", "--capacity", "40/s", "--step", "200ms", "--quick", "--timeout", "5s", "--format", "json")
	if code != 0 && code != 1 && code != 5 {
		t.Fatalf("exit code %d: %s%s", code, out, stderr)
	}
	seen := map[string]int{}
	for _, s := range server.take() {
		method, _, _ := strings.Cut(s, " ")
		seen[method]++
	}
	// Each trial begins with the first, and ends with either.
	if a, b := seen["GET"], seen["POST"]; len(seen) != 2 || b == 0 || a < b || a > b+b/2+10 {
		t.Errorf("the server saw %v, want as many of both", seen)
	}
	var r result
	strict(t, out, &r)
	if !strings.Contains(r.Run.Repeat, "--targets t ") {
		t.Errorf("to repeat the run: %s", r.Run.Repeat)
	}
}

// TestOneTroubleOfManyTargets holds that what is wrong with a server is said once,
// and that none of the others is sent to.
func TestOneTroubleOfManyTargets(t *testing.T) {
	t.Parallel()
	server := record(t, nil)
	var text bytes.Buffer
	for i := range 30 {
		fmt.Fprintf(&text, "GET %s/%d\n\nGET http://127.0.0.1:1/%d\n\n", server.URL, i, i)
	}
	dir := files(t, map[string]string{"t": text.String(), "p.yaml": steady})
	out, stderr, code := knee(t, dir, "run", "./p.yaml", "--targets", "t")
	if code != 3 || out != "" || strings.Count(stderr, "refused") != 1 {
		t.Errorf("exit code %d, stdout %q, stderr %q: want 3 and one line", code, out, stderr)
	}
	if seen := server.take(); len(seen) > 0 {
		t.Errorf("sent: %q", seen)
	}
}
