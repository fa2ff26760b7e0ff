package cli

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"knee/ci/verdict"
)

// The server that does nothing says where it is, answers, and writes when
// requests came once it ends.
func TestServeNull(t *testing.T) {
	file := filepath.Join(t.TempDir(), "arrivals.txt")
	w, _, stderr := quietWorld("serve", "--null", "--child", "--listen", "127.0.0.1:0", "--null-body", "3", "--arrivals", file)
	stdin, hangUp := io.Pipe()
	out, stdout := io.Pipe()
	w.stdin, w.stdout = stdin, stdout
	ended := make(chan int, 1)
	go func() { ended <- run(context.Background(), w) }()

	line, err := bufio.NewReader(out).ReadBytes('\n')
	var ready nullReady
	if err != nil || json.Unmarshal(line, &ready) != nil || ready.PID != os.Getpid() {
		t.Fatalf("first line %q, %v: want addr and pid %d; %s", line, err, os.Getpid(), stderr)
	}
	for range 2 {
		resp, err := http.Get("http://" + ready.Addr + "/")
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(resp.Body); string(body) != "xxx" || err != nil {
			t.Errorf("body %q, %v", body, err)
		}
		resp.Body.Close()
	}
	hangUp.Close()
	if code := <-ended; code != verdict.CodeOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	at, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var first, second int64
	if n, err := fmt.Sscanf(string(at), "%d\n%d\n", &first, &second); n != 2 || first > second {
		t.Errorf("arrivals %q, %v: want two instants in order", at, err)
	}
}

func TestServeNullRefuses(t *testing.T) {
	for args, want := range map[string]string{
		"--arrivals x":                    "--arrivals without --null",
		"--null-body 7":                   "--null-body without --null",
		"--null-busy":                     "--null-busy without --null",
		"--null limit":                    "--null with the profile limit",
		"--null --null-body -1":           "--null-body -1: want 0 to",
		"--null --arrivals-most 0":        "--arrivals-most 0: want at least 1",
		"--null --listen nowhere.invalid": "--listen nowhere.invalid",
	} {
		w, _, stderr := quietWorld(append([]string{"serve"}, strings.Fields(args)...)...)
		if code := run(context.Background(), w); code == verdict.CodeOK || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: exit code %d, %q; want an error with %q", args, code, stderr, want)
		}
	}
}
