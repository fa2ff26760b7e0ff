package profiles

import (
	"time"

	"knee/generator/client"
	"knee/target/fault"
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
	Tried   []string           `yaml:"tried" doc:"a list with a default"`
	Ratio   *float64           `yaml:"ratio" doc:"a number that may be left out"`
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
			return &needyKnobs{Count: 3, Name: "x", Backoff: needyBackoff{Base: 25 * time.Millisecond, Jitter: "full"}, Tried: []string{"a", "b"}}
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

// injury is a fault with a knob.
type injury struct{ setup fault.Setup }

type injuryKnobs struct {
	Factor float64 `yaml:"factor" doc:"a number"`
}

func (injury) Bend(time.Duration, *fault.Conditions) time.Duration { return protection.Never }

// patient makes up to Attempts attempts of each original, with a wait between.
type patient struct{ patientKnobs }

type patientKnobs struct {
	Attempts int           `yaml:"attempts" doc:"a number"`
	Wait     time.Duration `yaml:"wait" doc:"a duration"`
}

func (patient) Before(now time.Duration, _ *client.Attempt) (time.Duration, string) { return now, "" }

func (patient) After(time.Duration, *client.Attempt, client.Answer) time.Duration {
	return protection.Never
}

func (p patient) Patience(inside time.Duration) (time.Duration, int) {
	n := time.Duration(p.Attempts)
	return n*inside + (n-1)*p.Wait, p.Attempts
}

func init() {
	fault.Registry.Register(plugin.Info[fault.New]{
		Name:  "test_injury",
		Doc:   "for tests alone",
		Knobs: func() any { return &injuryKnobs{Factor: 3} },
		New: func(s fault.Setup, knobs any) (fault.Fault, error) {
			if k := knobs.(*injuryKnobs); !(k.Factor > 0) {
				return nil, plugin.Knob("factor", k.Factor, "a number above 0")
			}
			return injury{s}, nil
		},
	})
	client.Registry.Register(plugin.Info[client.NewBehaviour]{
		Name:  "test_patient",
		Doc:   "for tests alone",
		Knobs: func() any { return &patientKnobs{Attempts: 3, Wait: 50 * time.Millisecond} },
		New: func(_ client.Setup, knobs any) (client.Behaviour, error) {
			k := knobs.(*patientKnobs)
			if k.Attempts < 1 {
				return nil, plugin.Knob("attempts", k.Attempts, "a number of at least 1")
			}
			return patient{*k}, nil
		},
	})
}
