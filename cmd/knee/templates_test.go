package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// shell runs a script of a CI system as that would, with the knee of this test, and
// returns its exit code and output.
func shell(t *testing.T, dir, script string, env ...string) (code int, out string) {
	t.Helper()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash to run the script with")
	}
	cmd := exec.Command(bash, "-eo", "pipefail", "-c", script)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), env...)
	text, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return cmd.ProcessState.ExitCode(), string(text)
}

// template reads a file of a CI system.
func template(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "ci", path))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// installed puts the knee of this test at path.
func installed(t *testing.T, path string) {
	t.Helper()
	knee, err := exec.LookPath("knee")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(knee, path); err != nil {
		t.Fatal(err)
	}
}

// An action is what the test reads of action.yml.
type action struct {
	Name, Description string
	Inputs            map[string]struct{ Description, Default string }
	Outputs           map[string]struct{ Description, Value string }
	Runs              struct {
		Using string
		Steps []struct {
			ID, Shell, Run, Uses string
			Env                  map[string]string
		}
	}
}

func TestGitHubAction(t *testing.T) {
	t.Parallel()
	var a action
	if err := yaml.Unmarshal([]byte(template(t, "github/action.yml")), &a); err != nil {
		t.Fatal(err)
	}
	if a.Name == "" || a.Description == "" || a.Runs.Using != "composite" {
		t.Errorf("%q, %q, %q: want a composite action with a name and a description", a.Name, a.Description, a.Runs.Using)
	}
	gate := a.Runs.Steps[len(a.Runs.Steps)-1]
	for _, s := range a.Runs.Steps {
		if s.Run != "" && (s.Shell != "bash" || strings.Contains(s.Run, "${{")) {
			t.Errorf("step %s: want bash, and what users write in variables alone", s.ID)
		}
	}
	input := regexp.MustCompile(`^\$\{\{ inputs\.([a-z-]+) \}\}$`)
	used := map[string]bool{}
	for variable, value := range gate.Env {
		m := input.FindStringSubmatch(value)
		if m == nil {
			t.Fatalf("%s is %s: want an input", variable, value)
		}
		if _, ok := a.Inputs[m[1]]; !ok {
			t.Errorf("%s: there is no input %s", variable, m[1])
		}
		used[m[1]] = true
	}
	for name, in := range a.Inputs {
		if in.Description == "" || !used[name] {
			t.Errorf("input %s has no description, or no use", name)
		}
	}

	for name, c := range map[string]struct {
		inputs  map[string]string
		code    int
		outputs map[string]string // as regular expressions
	}{
		"passes":         {map[string]string{"args": "--virtual\n--quiet\n"}, 0, map[string]string{"verdict": "^pass$", "knee": `^[0-9.]+$`, "plateau": `^[0-9.]+$`, "recovery": `^[0-9.]+$`, "failed": "^$"}},
		"fails":          {map[string]string{"args": "--virtual\n--quiet\n--protect\nnone\n"}, 1, map[string]string{"verdict": "^fail$", "failed": "plateau"}},
		"compares":       {map[string]string{"args": "--virtual\n--candidate-set\ntarget.protections=[]"}, 1, map[string]string{"verdict": "^fail$", "failed": "candidate goodput at 10x"}},
		"two builds":     {map[string]string{"baseline-cmd": "exit 3", "candidate-cmd": "exit 3", "url": "http://127.0.0.1:1/"}, 3, nil},
		"wrong argument": {map[string]string{"inconclusive": "maybe"}, 2, nil},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			installed(t, filepath.Join(dir, "knee"))
			outputs, summary := filepath.Join(dir, "outputs"), filepath.Join(dir, "summary")
			env := []string{"RUNNER_TEMP=" + dir, "GITHUB_ACTIONS=true", "GITHUB_OUTPUT=" + outputs, "GITHUB_STEP_SUMMARY=" + summary}
			for variable, value := range gate.Env {
				in := input.FindStringSubmatch(value)[1]
				given, ok := c.inputs[in]
				if !ok {
					given = a.Inputs[in].Default
				}
				env = append(env, variable+"="+given)
			}
			code, out := shell(t, dir, gate.Run, env...)
			if code != c.code {
				t.Fatalf("exit code %d, want %d: %s", code, c.code, out)
			}
			if c.outputs == nil {
				return
			}
			for _, path := range []string{summary, filepath.Join(dir, "knee.xml"), filepath.Join(dir, "knee-run", "run.json")} {
				if _, err := os.Stat(path); err != nil {
					t.Error(err)
				}
			}
			text, err := os.ReadFile(outputs)
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]string{}
			for line := range strings.Lines(string(text)) {
				key, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
				got[key] = value
			}
			for key, want := range c.outputs {
				if !regexp.MustCompile(want).MatchString(got[key]) {
					t.Errorf("output %s is %q, want %s", key, got[key], want)
				}
			}
			for name, o := range a.Outputs {
				if _, ok := got[name]; !ok || o.Value != "${{ steps.gate.outputs."+name+" }}" {
					t.Errorf("output %s is %s: knee writes %v", name, o.Value, got)
				}
			}
		})
	}
}

func TestGitLabJob(t *testing.T) {
	t.Parallel()
	var file map[string]struct {
		Image        string
		Variables    map[string]string
		Script       []string
		AllowFailure struct {
			ExitCodes []int `yaml:"exit_codes"`
		} `yaml:"allow_failure"`
		Artifacts struct {
			When    string
			Reports struct{ JUnit string }
			Paths   []string
		}
	}
	if err := yaml.Unmarshal([]byte(template(t, "gitlab/knee.gitlab-ci.yml")), &file); err != nil {
		t.Fatal(err)
	}
	job := file[".knee"]
	if job.Artifacts.When != "always" || job.Artifacts.Reports.JUnit != "knee.xml" || len(job.AllowFailure.ExitCodes) != 1 || job.AllowFailure.ExitCodes[0] != 5 {
		t.Errorf("%+v: want the report always, and a warning for 5", job)
	}
	for args, want := range map[string]int{"--virtual --quiet": 0, "--virtual --quiet --protect none": 1} {
		dir := t.TempDir()
		env := []string{"KNEE_SOURCE=" + dir, "KNEE_PROFILE=" + job.Variables["KNEE_PROFILE"], "KNEE_ARGS=" + args}
		if code, out := shell(t, dir, strings.Join(job.Script, "\n"), env...); code != want {
			t.Errorf("%s: exit code %d, want %d: %s", args, code, want, out)
		}
		for _, path := range []string{job.Artifacts.Reports.JUnit, job.Artifacts.Paths[0]} {
			if _, err := os.Stat(filepath.Join(dir, path)); err != nil {
				t.Error(err)
			}
		}
	}
}

func TestJenkinsfile(t *testing.T) {
	t.Parallel()
	text := template(t, "jenkins/Jenkinsfile")
	for _, pair := range []string{"{}", "()"} {
		if open, shut := strings.Count(text, pair[:1]), strings.Count(text, pair[1:]); open != shut {
			t.Errorf("%d of %s and %d of %s", open, pair[:1], shut, pair[1:])
		}
	}
	scripts := regexp.MustCompile(`sh(?: |\(returnStatus: true, script: )'([^']+)'`).FindAllStringSubmatch(text, -1)
	if len(scripts) != 2 || !strings.HasPrefix(scripts[0][1], "go build ") {
		t.Fatalf("scripts %q: want one that builds and one that judges", scripts)
	}
	for args, want := range map[string]int{"--virtual --quiet": 0, "--virtual --quiet --protect none": 1} {
		dir := t.TempDir()
		installed(t, filepath.Join(dir, "knee"))
		if code, out := shell(t, dir, scripts[1][1], "KNEE_PROFILE=default", "BUILD_NUMBER=7", "KNEE_ARGS="+args); code != want {
			t.Errorf("%s: exit code %d, want %d: %s", args, code, want, out)
		}
		for _, path := range []string{"knee.xml", "knee-run-7/run.json"} {
			if _, err := os.Stat(filepath.Join(dir, path)); err != nil {
				t.Error(err)
			}
		}
	}
}
