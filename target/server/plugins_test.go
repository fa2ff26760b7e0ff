package server_test

import (
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"time"

	"knee/target/order"
	"knee/target/protection"
	"knee/target/server"
)

var setup = protection.Setup{Workers: 100, Service: 50 * time.Millisecond, Rand: rand.New(rand.NewPCG(1, 1))}

// orderNamed returns the constructor of a registered order, NAME[:knob=value,…].
func orderNamed(spec string) func() (order.Order, error) {
	name, knobs, _ := strings.Cut(spec, ":")
	return func() (order.Order, error) {
		i, err := order.Registry.Lookup(name)
		if err != nil {
			return nil, err
		}
		var k any
		if i.Knobs != nil {
			k = i.Knobs()
			setKnobs(k, knobs)
		}
		return i.New(order.Setup{Rand: rand.New(rand.NewPCG(1, 1))}, k)
	}
}

// chainNamed returns links for registered protections, each NAME[:knob=value,…].
func chainNamed(specs ...string) []server.Link { return chainFor(setup, specs...) }

func chainFor(s protection.Setup, specs ...string) []server.Link {
	var chain []server.Link
	for _, spec := range specs {
		name, knobs, _ := strings.Cut(spec, ":")
		chain = append(chain, server.Link{Kind: name, New: func() (protection.Protection, error) {
			i, err := protection.Registry.Lookup(name)
			if err != nil {
				return nil, err
			}
			var k any
			if i.Knobs != nil {
				k = i.Knobs()
				setKnobs(k, knobs)
			}
			return i.New(s, k)
		}})
	}
	return chain
}

// setKnobs sets fields by their yaml tags. It panics on what a test spelt wrong.
func setKnobs(knobs any, list string) {
	v := reflect.ValueOf(knobs).Elem()
	for item := range strings.SplitSeq(list, ",") {
		if item == "" {
			continue
		}
		name, value, _ := strings.Cut(item, "=")
		var field reflect.Value
		for _, f := range reflect.VisibleFields(v.Type()) { // those of inlined structs too
			if f.Tag.Get("yaml") == name {
				field = v.FieldByIndex(f.Index)
			}
		}
		switch field.Interface().(type) {
		case time.Duration:
			d, err := time.ParseDuration(value)
			check(err)
			field.SetInt(int64(d))
		case int:
			n, err := strconv.Atoi(value)
			check(err)
			field.SetInt(int64(n))
		case float64:
			x, err := strconv.ParseFloat(value, 64)
			check(err)
			field.SetFloat(x)
		case bool:
			field.SetBool(value == "true")
		case string:
			field.SetString(value)
		}
	}
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
