package profiles

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"
)

// TestKnobsOfEveryPlugIn: whatever is registered, its defaults read back as what
// they were, from a resolved profile and from a flag, and so do they without the
// lists and mappings that a profile may empty.
func TestKnobsOfEveryPlugIn(t *testing.T) {
	for _, p := range []pluggable{new(Protection), new(Order), new(Behaviour), new(Injection), new(Balancer)} {
		c := p.catalogue()
		for _, e := range c.entries {
			if e.newKnobs() == nil {
				continue
			}
			for _, emptied := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s/%s/%v", c.what, e.name, emptied), func(t *testing.T) {
					knobs := e.newKnobs()
					if emptied {
						empty(reflect.ValueOf(knobs).Elem())
					}
					of := func() pluggable { return reflect.New(reflect.TypeOf(p).Elem()).Interface().(pluggable) }
					own := of()
					*own.plugin() = Plugin{Kind: e.name, Knobs: knobs}
					wantSame(t, own, plugInNodeOf(own), of())
					flag, err := plugInNode(short(own))
					if err != nil {
						t.Fatal(err)
					}
					wantSame(t, own, flag, of())
				})
			}
		}
	}
}

// empty takes out what lists and mappings hold.
func empty(v reflect.Value) {
	for i := range v.NumField() {
		switch f := v.Field(i); f.Kind() {
		case reflect.Slice, reflect.Map:
			f.SetZero()
		case reflect.Struct:
			if f.CanSet() {
				empty(f)
			}
		}
	}
}

// wantSame decodes n, as it reads in a file, into got and compares that with want.
func wantSame(t *testing.T, want pluggable, n *yaml.Node, got pluggable) {
	t.Helper()
	text, err := yaml.Dump(n)
	if err != nil {
		t.Fatal(err)
	}
	tree, faults := parse("p.yaml", text)
	if faults != nil {
		t.Fatal(faults)
	}
	d := newDecoder(tree)
	d.decodePlugin(tree.root, "it", got)
	if len(d.faults) > 0 {
		t.Fatalf("%v\n%s", d.faults, text)
	}
	if diff := cmp.Diff(want.plugin().Knobs, got.plugin().Knobs, cmp.Exporter(func(reflect.Type) bool { return true })); diff != "" {
		t.Errorf("%s (-want +got):\n%s", strings.TrimSpace(string(text)), diff)
	}
}
