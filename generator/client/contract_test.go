package client

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"knee/target/plugin"
)

// Every behaviour says what it does, when it makes things worse and what its
// knobs mean, and works with its defaults.
func TestEveryBehaviourIsDocumented(t *testing.T) {
	for _, info := range Registry.All() {
		t.Run(info.Name, func(t *testing.T) {
			for what, text := range map[string]string{"doc": info.Doc, "worse": info.Worse} {
				if text == "" || strings.HasSuffix(text, ".") || strings.Contains(text, "\n") {
					t.Errorf("%s is %q: want one line without a full stop", what, text)
				}
			}
			for _, k := range plugin.KnobDocs(info.Knobs()) {
				if k.Doc == "" {
					t.Errorf("knob %s is not documented", k.Name)
				}
			}
			if _, err := info.New(Setup{Clients: 1, Rand: rand.New(rand.NewPCG(1, 1))}, info.Knobs()); err != nil {
				t.Errorf("the defaults: %v", err)
			}
		})
	}
}

// Every number and every word that is out of range is refused by the name of its
// knob, and all of them at once.
func TestEveryBehaviourChecksItsKnobs(t *testing.T) {
	for _, info := range Registry.All() {
		t.Run(info.Name, func(t *testing.T) {
			knobs := info.Knobs()
			bad := spoil(reflect.ValueOf(knobs).Elem(), "")
			_, err := info.New(Setup{Clients: 1}, knobs)
			found := map[string]bool{}
			for _, k := range plugin.KnobErrors(err) {
				found[k.Knob] = true
			}
			for _, name := range bad {
				if !found[name] {
					t.Errorf("%s is not refused: %v", name, err)
				}
			}
		})
	}
}

// spoil makes every knob in v invalid, but for those that allow everything, and
// returns the names.
func spoil(v reflect.Value, within string) (names []string) {
	for i := range v.NumField() {
		f := v.Field(i)
		name := within + v.Type().Field(i).Tag.Get("yaml")
		switch f.Kind() {
		case reflect.Struct:
			names = append(names, spoil(f, name+".")...)
			continue
		case reflect.Int, reflect.Int64:
			f.SetInt(-1)
		case reflect.Uint32:
			f.SetUint(1<<32 - 1)
		case reflect.Float64:
			f.SetFloat(-1)
		case reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
			f.Elem().SetFloat(-1)
		case reflect.String:
			f.SetString("nonsense")
		case reflect.Slice:
			f.Set(reflect.ValueOf([]string{"nonsense"}))
		default:
			continue
		}
		if name != "ratio" { // which depends on the rule
			names = append(names, name)
		}
	}
	return names
}

func TestKnobsInRange(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want string // in the error; "" for none
	}{
		{"ratio of all", newErr("retry_budget", func(k *budgetKnobs) { k.Ratio = 1 }), ""},
		{"ratio of more than all", newErr("retry_budget", func(k *budgetKnobs) { k.Ratio = 1.1 }), "ratio is 1.1: want above 0, up to 1"},
		{"ratio of grpc", newErr("retry_budget", func(k *budgetKnobs) { k.Rule, k.Ratio = ruleGRPC, 0.0001 }), "ratio is 0.0001"},
		{"k 1", newErr("throttle", func(k *throttleKnobs) { k.K = 1 }), ""},
		{"k below 1", newErr("throttle", func(k *throttleKnobs) { k.K = 0.99 }), "k is 0.99: want 1 to 1000"},
		{"cap below base", newErr("retry", func(k *retryKnobs) { k.Backoff.Cap = ms }), "backoff.cap is 1ms: want at least the base"},
		{"endings of nothing", newErr("retry", func(k *retryKnobs) { k.On = []string{"rejected:"} }), "on is [rejected:]: want a list of"},
		{"a reason of timeouts", newErr("retry", func(k *retryKnobs) { k.On = []string{"timeout:slow"} }), "on is [timeout:slow]"},
		{"buckets", newErr("breaker", func(k *breakerKnobs) { k.Interval, k.Bucket = time.Second, ms }), ""},
		{"too many buckets", newErr("breaker", func(k *breakerKnobs) { k.Interval, k.Bucket = 2*time.Second, ms }), "bucket is 1ms"},
	} {
		switch {
		case c.want == "" && c.err != nil:
			t.Errorf("%s: %v", c.name, c.err)
		case c.want != "" && (c.err == nil || !strings.Contains(c.err.Error(), c.want)):
			t.Errorf("%s: %v, want an error with %q", c.name, c.err, c.want)
		}
	}
}

func newErr[K any](name string, change func(*K)) error {
	info, err := Registry.Lookup(name)
	if err != nil {
		return err
	}
	knobs := info.Knobs()
	change(knobs.(*K))
	_, err = info.New(Setup{Clients: 1}, knobs)
	return err
}
