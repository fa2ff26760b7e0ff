package profiles

import (
	"reflect"
	"slices"
	"strings"
)

// fieldSet are the fields of a struct by the name in their yaml tag. Those of
// an inlined struct count as the struct's own.
type fieldSet map[string]reflect.StructField

func fieldsOf(t reflect.Type) fieldSet {
	fields := fieldSet{}
	for _, f := range reflect.VisibleFields(t) {
		name, options, _ := strings.Cut(f.Tag.Get("yaml"), ",")
		if options != "inline" && name != "" && name != "-" {
			fields[name] = f
		}
	}
	return fields
}

// names returns the names of fields in the order of the struct.
func names(fields fieldSet) []string {
	all := make([]string, 0, len(fields))
	for n := range fields {
		all = append(all, n)
	}
	slices.SortFunc(all, func(a, b string) int {
		return slices.Compare(fields[a].Index, fields[b].Index)
	})
	return all
}
