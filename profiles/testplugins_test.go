package profiles

import (
	"time"

	"knee/target/plugin"
	"knee/target/protection"
)

// needy is a protection that must know the request, and has a knob of each
// type that a knob can have.
type needy struct{}

type needyKnobs struct {
	Wait   time.Duration `yaml:"wait" doc:"a duration"`
	Share  float64       `yaml:"share" doc:"a share"`
	Count  int           `yaml:"count" doc:"a number"`
	Whole  uint8         `yaml:"whole" doc:"a small number"`
	On     bool          `yaml:"on" doc:"a switch"`
	Name   string        `yaml:"name" doc:"a text"`
	Rate   Rate          `yaml:"rate" doc:"a type that reads itself"`
	Levels []int         `yaml:"levels,omitempty" doc:"a list"`

	Weights map[string]float64 `yaml:"weights,omitempty" doc:"a mapping"`
	Backoff needyBackoff       `yaml:"backoff" doc:"knobs of their own"`
}

type needyBackoff struct {
	Base   time.Duration `yaml:"base" doc:"a duration"`
	Jitter string        `yaml:"jitter" doc:"a text"`
}

func (needy) Admit(time.Duration, *protection.Request, protection.Load) protection.Reason {
	return ""
}
func (needy) Leave(time.Duration, *protection.Request, protection.End) {}
func (needy) Needs() string                                            { return "the class" }

func init() {
	protection.Registry.Register(plugin.Info[protection.New]{
		Name: "test_needy",
		Doc:  "for tests alone",
		Knobs: func() any {
			return &needyKnobs{Count: 3, Name: "x", Backoff: needyBackoff{Base: 25 * time.Millisecond, Jitter: "full"}}
		},
		New: func(_ protection.Setup, knobs any) (protection.Protection, error) {
			k := knobs.(*needyKnobs)
			if k.Count < 0 {
				return nil, plugin.Knob("count", k.Count, "a number of at least 0")
			}
			if k.Backoff.Base <= 0 {
				return nil, plugin.Knob("backoff.base", k.Backoff.Base, "a duration above 0")
			}
			return needy{}, nil
		},
	})
}
