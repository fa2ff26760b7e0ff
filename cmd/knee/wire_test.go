package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// TestURLOnTheWire holds that a URL goes to the server as it was written, but
// for its fragment, and that a password stays out of reports.
func TestURLOnTheWire(t *testing.T) {
	t.Parallel()
	var (
		mu   sync.Mutex
		seen = map[string]int{}
	)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		mu.Lock()
		defer mu.Unlock()
		seen[strings.Join([]string{r.Method, r.RequestURI, r.Host, user, password, r.Header.Get("X-Api-Key")}, " ")]++
	}))
	defer server.Close()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "p.yaml"), []byte("name: p\nclient: {timeout: 2s}\nload: {phases: [{kind: hold, rate: 20/s, for: 500ms}]}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	url := strings.Replace(server.URL, "http://", "HTTP://me:hidden@", 1) + "/a%20b/../c?x=%31&y#fragment"
	out, stderr, code := knee(t, dir, "run", "./p.yaml", "--url", url, "-H", "Host: other.example", "--header=X-Api-Key: hidden", "--out", "kept", "--format", "json")
	if code != 0 {
		t.Fatalf("exit code %d: %s%s", code, out, stderr)
	}
	mu.Lock()
	defer mu.Unlock()
	if want := "GET /a%20b/../c?x=%31&y other.example me hidden hidden"; len(seen) != 1 || seen[want] == 0 {
		t.Errorf("the server saw %v, want %q", seen, want)
	}
	texts := map[string]string{"stdout": out, "stderr": stderr}
	files, err := filepath.Glob(filepath.Join(dir, "kept", "*"))
	if err != nil || len(files) < 4 {
		t.Fatalf("%d files in the folder of the run, %v", len(files), err)
	}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts[filepath.Base(name)] = string(text)
	}
	for name, text := range texts {
		if strings.Contains(text, "hidden") {
			t.Errorf("%s holds a secret", name)
		}
	}
	var r result
	strict(t, out, &r)
	if !strings.Contains(r.Run.Repeat, "/a%20b/../c?x=%31&y") {
		t.Errorf("to repeat the run: %s", r.Run.Repeat)
	}
}
