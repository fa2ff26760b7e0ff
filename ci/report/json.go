package report

import (
	"encoding/json"
	"fmt"
	"io"
	"math"
	"reflect"

	"knee/analysis"
)

// JSON writes the result as indented JSON with a newline at its end. The same
// result gives the same bytes.
//
// JSON has no infinite numbers: an optional one that is not finite is written
// as null, one in a map is left out, and any other is an error that names the
// field, because 0 would be a lie. Lists and maps that are nil are written
// empty. r is not changed.
func JSON(w io.Writer, r *analysis.Result) error {
	clean := *r
	clean.Profile = nil // foreign data: encoding/json refuses what is not finite
	return writeJSON(w, "the result", clean, func(c *analysis.Result) { c.Profile = r.Profile })
}

// ScoreboardJSON writes a scoreboard as JSON does a result.
func ScoreboardJSON(w io.Writer, b *analysis.Scoreboard) error {
	clean := *b
	clean.Profile = nil
	return writeJSON(w, "the scoreboard", clean, func(c *analysis.Scoreboard) { c.Profile = b.Profile })
}

// writeJSON writes v with every number finite; complete adds what is not to be
// looked at.
func writeJSON[T any](w io.Writer, what string, v T, complete func(*T)) error {
	clean, err := finite(reflect.ValueOf(v), "")
	if err != nil {
		return fmt.Errorf("writing %s as JSON: %w", what, err)
	}
	v = clean.Interface().(T)
	complete(&v)
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("writing %s as JSON: %w", what, err)
	}
	return nil
}

// finite returns a copy of v, which stands at path, in which every number can
// be written.
func finite(v reflect.Value, path string) (reflect.Value, error) {
	switch v.Kind() {
	case reflect.Float64:
		if isFinite(v.Float()) {
			return v, nil
		}
		return v, fmt.Errorf("%s is %v: want a finite number", path, v.Float())
	case reflect.Pointer:
		if v.Type().Elem().Kind() == reflect.Float64 && !v.IsNil() && !isFinite(v.Elem().Float()) {
			return reflect.Zero(v.Type()), nil
		}
		return v, nil
	case reflect.Struct:
		return finiteStruct(v, path)
	case reflect.Slice:
		out := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		for i := range v.Len() {
			e, err := finite(v.Index(i), fmt.Sprintf("%s[%d]", path, i))
			if err != nil {
				return v, err
			}
			out.Index(i).Set(e)
		}
		return out, nil
	case reflect.Map:
		return finiteMap(v, path)
	}
	return v, nil
}

func finiteStruct(v reflect.Value, path string) (reflect.Value, error) {
	out := reflect.New(v.Type()).Elem()
	for i := range v.NumField() {
		f, err := finite(v.Field(i), path+"."+v.Type().Field(i).Name)
		if err != nil {
			return v, err
		}
		out.Field(i).Set(f)
	}
	return out, nil
}

func finiteMap(v reflect.Value, path string) (reflect.Value, error) {
	out := reflect.MakeMap(v.Type())
	for _, key := range v.MapKeys() {
		value := v.MapIndex(key)
		if value.Kind() == reflect.Float64 && !isFinite(value.Float()) {
			continue
		}
		e, err := finite(value, fmt.Sprintf("%s[%v]", path, key))
		if err != nil {
			return v, err
		}
		out.SetMapIndex(key, e)
	}
	return out, nil
}

func isFinite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
