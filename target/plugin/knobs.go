package plugin

import (
	"encoding"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// A KnobDoc describes one knob.
type KnobDoc struct {
	Name    string // in the profile; a path such as backoff.base where it lies within another
	Default string // "-" when it is unset
	Doc     string
}

// KnobDocs describes the knobs in what Info.Knobs returned, in their order.
// Those of a struct that is a knob itself follow its own line.
func KnobDocs(knobs any) []KnobDoc {
	v := reflect.Indirect(reflect.ValueOf(knobs))
	if v.Kind() != reflect.Struct {
		return nil
	}
	return knobDocs(nil, "", v)
}

func knobDocs(docs []KnobDoc, within string, v reflect.Value) []KnobDoc {
	for i := range v.NumField() {
		f, value := v.Type().Field(i), reflect.Indirect(v.Field(i))
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if options == "inline" {
			docs = knobDocs(docs, within, value)
			continue
		}
		if name == "" || name == "-" {
			continue
		}
		d := KnobDoc{Name: within + name, Default: "-", Doc: f.Tag.Get("doc")}
		if !v.Field(i).IsZero() && !nested(value) {
			d.Default = shown(value)
		}
		docs = append(docs, d)
		if value.IsValid() && nested(value) {
			docs = knobDocs(docs, d.Name+".", value)
		}
	}
	return docs
}

// nested reports whether v is a struct of knobs, not one that is written as a text.
func nested(v reflect.Value) bool {
	return v.Kind() == reflect.Struct && !v.Type().Implements(reflect.TypeFor[encoding.TextMarshaler]())
}

// shown returns a default as a profile writes it.
func shown(v reflect.Value) string {
	var parts []string
	switch v.Kind() {
	case reflect.Map:
		for _, k := range v.MapKeys() {
			parts = append(parts, fmt.Sprintf("%v: %v", k, v.MapIndex(k)))
		}
		slices.Sort(parts)
		return "{" + strings.Join(parts, ", ") + "}"
	case reflect.Slice:
		for i := range v.Len() {
			parts = append(parts, fmt.Sprint(v.Index(i)))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return fmt.Sprint(v.Interface())
}
