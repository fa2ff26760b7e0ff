package arch

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// example is the protection of the walk-through in CONTRIBUTING.md, and the file
// that it is to be written to.
func example(text string) (file, code string) {
	name := regexp.MustCompile("\\*\\*1\\. Write `([^`]+)`").FindStringSubmatch(text)
	block := regexp.MustCompile("(?s)```go\n(package .*?)```").FindStringSubmatch(text)
	if name == nil || block == nil {
		return "", ""
	}
	return name[1], block[1]
}

// contract compiles code as if it were file, and runs the contract of the plug-in
// that it registers. It returns what the go command says.
func contract(t *testing.T, file, code string) (string, error) {
	t.Helper()
	where, err := filepath.Abs(filepath.Join(root, file))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	source, overlay := filepath.Join(dir, "source.go"), filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(source, []byte(code), 0o644); err != nil {
		t.Fatal(err)
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": {where: source}})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(overlay, text, 0o644); err != nil {
		t.Fatal(err)
	}
	name := strings.TrimSuffix(filepath.Base(file), ".go")
	test := exec.Command("go", "test", "-overlay", overlay, "-run", "/^"+name+"$", "-v", "./"+filepath.Dir(file))
	test.Dir = root
	out, err := test.CombinedOutput()
	return string(out), err
}

// The file of the walk-through compiles, and is a protection that keeps the
// contract.
func TestContributingExampleKeepsTheContract(t *testing.T) {
	file, code := example(document(t, "CONTRIBUTING.md"))
	if code == "" {
		t.Fatal("CONTRIBUTING.md has no step \"**1. Write `FILE`\" with a block of Go")
	}
	out, err := contract(t, file, code)
	if err != nil || !strings.Contains(out, "--- PASS: TestContractDefaults/coin") {
		t.Errorf("CONTRIBUTING.md: its example does not keep the contract: %v\n%s", err, out)
	}
	// One that does not is found.
	broken := strings.Replace(code, "c.rand.Float64()", "rand.Float64()", 1)
	if out, err := contract(t, file, broken); err == nil || !strings.Contains(out, "--- FAIL: TestContractSameInputsSameDecisions/coin") {
		t.Errorf("with a global random source it passes: %v\n%s", err, out)
	}
}
