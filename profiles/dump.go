package profiles

import (
	"bytes"
	"crypto/sha256"
	"encoding"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// YAML returns the profile with all defaults filled in. Load reads the same
// profile from it.
func (p *Profile) YAML() []byte {
	var out bytes.Buffer
	dumper, err := yaml.NewDumper(&out, yaml.WithIndent(2), yaml.WithLineWidth(-1))
	if err == nil {
		err = dumper.Dump(nodeOf(reflect.ValueOf(p).Elem()))
	}
	if err == nil {
		err = dumper.Close()
	}
	if err != nil {
		panic(fmt.Sprintf("profiles: a tree of nodes cannot be written: %v", err))
	}
	return out.Bytes()
}

// SHA256 returns the hash of YAML in hexadecimal: profiles that mean the same
// have the same, whatever their comments and their order of keys.
func (p *Profile) SHA256() string {
	sum := sha256.Sum256(p.YAML())
	return hex.EncodeToString(sum[:])
}

// nodeOf turns a value of a profile into nodes. It is the inverse of decode.
func nodeOf(v reflect.Value) *yaml.Node {
	if p, ok := v.Addr().Interface().(pluggable); ok {
		return plugInNodeOf(p)
	}
	if v.Kind() == reflect.Pointer {
		return nodeOf(v.Elem())
	}
	if v.Type() == durationType {
		return textNode(Duration(v.Int()).String())
	}
	if t, ok := v.Addr().Interface().(encoding.TextMarshaler); ok {
		text, err := t.MarshalText()
		if err != nil {
			panic(fmt.Sprintf("profiles: a valid %v has no text: %v", v.Type(), err))
		}
		return textNode(string(text))
	}
	switch v.Kind() {
	case reflect.Struct:
		n := &yaml.Node{Kind: yaml.MappingNode}
		appendFields(n, v)
		return n
	case reflect.Slice:
		n := &yaml.Node{Kind: yaml.SequenceNode}
		for i := range v.Len() {
			item := nodeOf(v.Index(i))
			switch {
			case item.Kind == yaml.MappingNode:
				item.Style = yaml.FlowStyle // a line for each phase, class and plug-in
			case isNumber(v.Type().Elem().Kind()):
				n.Style = yaml.FlowStyle
			}
			n.Content = append(n.Content, item)
		}
		return n
	case reflect.Map:
		return mapNodeOf(v)
	case reflect.String:
		return textNode(v.String())
	case reflect.Float64, reflect.Float32:
		return plainNode(strconv.FormatFloat(v.Float(), 'g', -1, v.Type().Bits()))
	}
	return plainNode(fmt.Sprint(v.Interface()))
}

// isNumber reports whether values of a kind are written as numbers, or as
// durations.
func isNumber(k reflect.Kind) bool { return k >= reflect.Int && k <= reflect.Float64 }

// mapNodeOf turns a map into a mapping, sorted by its keys.
func mapNodeOf(v reflect.Value) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(a.String(), b.String()) })
	for _, k := range keys {
		item := reflect.New(v.Type().Elem()).Elem()
		item.Set(v.MapIndex(k))
		n.Content = append(n.Content, textNode(k.String()), nodeOf(item))
	}
	return n
}

// appendFields adds the fields of a struct to a mapping, in their order.
func appendFields(n *yaml.Node, v reflect.Value) {
	fields := fieldsOf(v.Type())
	for _, name := range names(fields) {
		f := v.FieldByIndex(fields[name].Index)
		_, options, _ := strings.Cut(fields[name].Tag.Get("yaml"), ",")
		empty := f.IsZero() || (f.Kind() == reflect.Slice || f.Kind() == reflect.Map) && f.Len() == 0
		if options == "omitempty" && empty || f.Kind() == reflect.Pointer && f.IsNil() {
			continue
		}
		put(n, name, nodeOf(f))
	}
}

func plugInNodeOf(p pluggable) *yaml.Node {
	n := &yaml.Node{Kind: yaml.MappingNode, Style: yaml.FlowStyle}
	put(n, "kind", textNode(p.plugin().Kind))
	for _, v := range partsOf(p) {
		appendFields(n, v)
	}
	return n
}

// textNode returns a text, quoted where it would read as something else.
func textNode(s string) *yaml.Node {
	n := &yaml.Node{}
	n.SetString(s)
	return n
}

// plainNode returns a number or a boolean.
func plainNode(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Value: s} }
