package plugin_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"knee/target/plugin"
)

// level is a struct that is written as a text.
type level struct{ n int }

func (l level) MarshalText() ([]byte, error) { return []byte{byte('0' + l.n)}, nil }
func (l level) String() string               { return string(rune('0' + l.n)) }

func TestKnobDocs(t *testing.T) {
	type backoff struct {
		Base   time.Duration `yaml:"base" doc:"first"`
		Jitter string        `yaml:"jitter" doc:"spread"`
	}
	type shared struct {
		Scope string `yaml:"scope" doc:"which"`
	}
	got := plugin.KnobDocs(&struct {
		shared  `yaml:",inline"`
		Ratio   float64            `yaml:"ratio" doc:"a share"`
		Unset   int                `yaml:"unset" doc:"a number"`
		Weights map[string]float64 `yaml:"weights" doc:"by name"`
		Backoff backoff            `yaml:"backoff" doc:"waits"`
		Level   level              `yaml:"level" doc:"how much"`
		On      []string           `yaml:"on" doc:"some"`
		Hidden  int
	}{On: []string{"a", "b"}, shared: shared{"all"}, Ratio: 0.1, Weights: map[string]float64{"b": 2, "a": 1}, Backoff: backoff{Base: time.Second}, Level: level{3}})
	want := []plugin.KnobDoc{
		{Name: "scope", Default: "all", Doc: "which"},
		{Name: "ratio", Default: "0.1", Doc: "a share"},
		{Name: "unset", Default: "-", Doc: "a number"},
		{Name: "weights", Default: "{a: 1, b: 2}", Doc: "by name"},
		{Name: "backoff", Default: "-", Doc: "waits"},
		{Name: "backoff.base", Default: "1s", Doc: "first"},
		{Name: "backoff.jitter", Default: "-", Doc: "spread"},
		{Name: "level", Default: "3", Doc: "how much"},
		{Name: "on", Default: "[a, b]", Doc: "some"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
