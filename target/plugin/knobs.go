package plugin

import (
	"fmt"
	"reflect"
	"strings"
)

// A KnobDoc describes one knob.
type KnobDoc struct {
	Name    string // in the profile
	Default string // "-" when it is unset
	Doc     string
}

// KnobDocs describes the knobs in what Info.Knobs returned, in their order.
func KnobDocs(knobs any) []KnobDoc {
	v := reflect.Indirect(reflect.ValueOf(knobs))
	if v.Kind() != reflect.Struct {
		return nil
	}
	var docs []KnobDoc
	for i := range v.NumField() {
		f := v.Type().Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if name == "" || name == "-" {
			continue
		}
		value := "-"
		if !v.Field(i).IsZero() {
			value = fmt.Sprint(reflect.Indirect(v.Field(i)).Interface())
		}
		docs = append(docs, KnobDoc{Name: name, Default: value, Doc: f.Tag.Get("doc")})
	}
	return docs
}
