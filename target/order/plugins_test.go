package order_test

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"knee/target/order"
	"knee/target/plugin"
	"knee/target/protection"
)

// fatal is what helpers want of a test, be it one of testing or of rapid.
type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

// newOrder builds the order NAME[:knob=value,…].
func newOrder(spec string) (order.Order, error) {
	name, knobs, _ := strings.Cut(spec, ":")
	i, err := order.Registry.Lookup(name)
	if err != nil {
		return nil, err
	}
	k, err := knobsOf(i.Knobs, knobs)
	if err != nil {
		return nil, err
	}
	return i.New(order.Setup{Rand: rand.New(rand.NewPCG(1, 2)), Classes: []string{"browse", "checkout"}}, k)
}

// makeOrder is newOrder for knobs that are right.
func makeOrder(t fatal, spec string) order.Order {
	t.Helper()
	o, err := newOrder(spec)
	if err != nil {
		t.Fatalf("%s: %v", spec, err)
	}
	return o
}

// makeProtection builds the protection NAME[:knob=value,…].
func makeProtection(t fatal, spec string) protection.Protection {
	t.Helper()
	name, knobs, _ := strings.Cut(spec, ":")
	i, err := protection.Registry.Lookup(name)
	if err != nil {
		t.Fatalf("%v", err)
	}
	k, err := knobsOf(i.Knobs, knobs)
	if err != nil {
		t.Fatalf("%s: %v", spec, err)
	}
	p, err := i.New(protection.Setup{Workers: 1, Service: 10 * time.Millisecond, Rand: rand.New(rand.NewPCG(3, 4))}, k)
	if err != nil {
		t.Fatalf("%s: %v", spec, err)
	}
	return p
}

// knobsOf decodes knob=value,… into fresh knobs. A value that is a mapping is
// written {a: 1; b: 2}.
func knobsOf(fresh func() any, list string) (any, error) {
	if fresh == nil {
		return nil, nil
	}
	knobs := fresh()
	if list == "" {
		return knobs, nil
	}
	var text strings.Builder
	for item := range strings.SplitSeq(list, ",") {
		name, value, _ := strings.Cut(item, "=")
		text.WriteString(name + ": " + strings.ReplaceAll(value, ";", ",") + "\n")
	}
	return knobs, yaml.Load([]byte(text.String()), knobs, yaml.WithKnownFields())
}

// knobFields returns the fields of an order's knobs.
func knobFields(i plugin.Info[order.New]) []reflect.StructField {
	return reflect.VisibleFields(reflect.TypeOf(i.Knobs()).Elem())
}
