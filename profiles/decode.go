package profiles

import (
	"encoding"
	"errors"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"knee/ci/verdict"
	"knee/target/plugin"
)

// A decoder writes a tree of nodes into Go values and collects everything that
// is wrong on the way. It is stricter than the YAML library: no aliases, no
// tags, no unknown keys, no number where a unit is wanted.
type decoder struct {
	tree   *tree
	faults Faults
	values map[string]*yaml.Node // by path, such as "load.phases.1.rate"
	keys   map[string]*yaml.Node // the keys of mappings, by the path of their value
	bad    map[string]bool       // fields whose value was faulted
	typo   map[string]bool       // mappings with an unknown key, in which nothing is missed
}

func newDecoder(t *tree) *decoder {
	return &decoder{
		tree:   t,
		values: map[string]*yaml.Node{},
		keys:   map[string]*yaml.Node{},
		bad:    map[string]bool{},
		typo:   map[string]bool{},
	}
}

// has reports whether the profile itself gives a value at path.
func (d *decoder) has(path string) bool { return d.values[path] != nil }

// faultAt adds a fault at the value that stands at path or, when the profile
// does not give it, at the nearest thing around it that it does give.
func (d *decoder) faultAt(path, what, want string) {
	for {
		if n := d.values[path]; n != nil {
			d.faultIn(n, 0, what, want)
			return
		}
		if path == "" {
			d.faultIn(d.tree.root, 0, what, want)
			return
		}
		path = parent(path)
	}
}

// faultIn adds a fault at the given number of characters into n.
func (d *decoder) faultIn(n *yaml.Node, into int, what, want string) {
	f := d.tree.fault(n, what, want)
	if f.Line > 0 {
		f.Column += into
	}
	d.faults = append(d.faults, f)
}

// fieldFault adds a fault of the shape "FIELD is VALUE: want …", unless the
// field, or what it stands in, has one already.
func (d *decoder) fieldFault(path, is, want string) {
	for at := path; ; at = parent(at) {
		if d.bad[at] {
			return
		}
		if at == "" {
			break
		}
	}
	d.bad[path] = true
	d.faultAt(path, subject(path)+" is "+is, "want "+want)
}

// badWithin reports whether a field of the mapping at path was faulted.
func (d *decoder) badWithin(path string) bool {
	for at := range d.bad {
		if strings.HasPrefix(at, path+".") {
			return true
		}
	}
	return false
}

// missing adds the fault of a field that a mapping must have, unless a
// misspelt key of the mapping is likely to be it.
func (d *decoder) missing(path, name, want string) {
	if !d.bad[path] && !d.typo[path] {
		d.faultAt(path, subject(path)+" has no "+name, "want "+want)
	}
	d.bad[join(path, name)] = true
}

// A defaulter sets the defaults of a value before a profile is decoded into it.
type defaulter interface{ setDefaults() }

// decode writes n, which stands at path, into v.
func (d *decoder) decode(n *yaml.Node, path string, v reflect.Value) {
	d.values[path] = n
	if !d.plain(n, path) {
		return
	}
	if p, ok := v.Addr().Interface().(pluggable); ok {
		d.decodePlugin(n, path, p)
		return
	}
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		d.decode(n, path, v.Elem())
		return
	}
	if t, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		d.decodeText(n, path, t)
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		d.decodeStruct(n, path, v)
	case reflect.Slice:
		d.decodeSlice(n, path, v)
	case reflect.Map:
		d.decodeMap(n, path, v)
	default:
		d.decodeScalar(n, path, v)
	}
}

// plain refuses what no part of a profile may contain.
func (d *decoder) plain(n *yaml.Node, path string) bool {
	switch {
	case n.Kind == yaml.AliasNode:
		d.faultIn(n, 0, "an alias, *"+n.Value, "want the value itself: aliases are not read")
	case n.Style&yaml.TaggedStyle != 0:
		d.faultIn(n, 0, "a tag, "+n.Tag, "want the value without a tag")
	default:
		return true
	}
	d.bad[path] = true
	return false
}

func (d *decoder) decodeStruct(n *yaml.Node, path string, v reflect.Value) {
	fields := fieldsOf(v.Type())
	if !d.isMapping(n, path, names(fields)) {
		return
	}
	if s, ok := v.Addr().Interface().(defaulter); ok {
		s.setDefaults()
	}
	d.eachKey(n, path, names(fields), func(name, at string, value *yaml.Node) {
		d.decode(value, at, v.FieldByIndex(fields[name].Index))
	})
}

// isMapping reports whether n is a mapping, and faults it when it is not.
func (d *decoder) isMapping(n *yaml.Node, path string, known []string) bool {
	if n.Kind == yaml.MappingNode {
		return true
	}
	d.fieldFault(path, describe(n), "a mapping with keys from "+strings.Join(known, ", "))
	return false
}

// eachKey calls do for each known key of n, and faults the others and those
// that stand twice. All keys are known when known is nil.
func (d *decoder) eachKey(n *yaml.Node, path string, known []string, do func(name, at string, value *yaml.Node)) {
	first := map[string]*yaml.Node{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if key.Kind != yaml.ScalarNode {
			want := "want a name"
			if known != nil {
				want = "want one of " + strings.Join(known, ", ")
			}
			d.faultIn(key, 0, "a key that is "+describe(key), want)
			continue
		}
		name, at := key.Value, join(path, key.Value)
		if before := first[name]; before != nil {
			where := "before"
			if before.Line > 0 {
				where = fmt.Sprintf("in line %d", before.Line)
			}
			d.faultIn(key, 0, fmt.Sprintf("%s is given twice, first %s", at, where), "want it once")
			continue
		}
		first[name] = key
		if known != nil && !slices.Contains(known, name) {
			d.typo[path] = true
			d.faultIn(key, 0, "unknown key "+quote(name)+within(path)+didYouMean(name, known), "known are "+strings.Join(known, ", "))
			continue
		}
		d.keys[at] = key
		do(name, at, value)
	}
}

func (d *decoder) decodeSlice(n *yaml.Node, path string, v reflect.Value) {
	if isNull(n) {
		return
	}
	if n.Kind != yaml.SequenceNode {
		d.fieldFault(path, describe(n), "a list")
		return
	}
	if len(n.Content) == 0 {
		v.SetZero() // nil, so that an empty list and no list are the same profile
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), len(n.Content), len(n.Content)))
	for i, item := range n.Content {
		d.decode(item, join(path, strconv.Itoa(i)), v.Index(i))
	}
}

// decodeMap reads a mapping whose keys are names that the profile makes up.
func (d *decoder) decodeMap(n *yaml.Node, path string, v reflect.Value) {
	if isNull(n) {
		return
	}
	if n.Kind != yaml.MappingNode {
		d.fieldFault(path, describe(n), "a mapping")
		return
	}
	if len(n.Content) == 0 {
		v.SetZero() // nil, so that an empty mapping and none are the same profile
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	d.eachKey(n, path, nil, func(name, at string, value *yaml.Node) {
		item := reflect.New(v.Type().Elem()).Elem()
		d.decode(value, at, item)
		v.SetMapIndex(reflect.ValueOf(name), item)
	})
}

func (d *decoder) decodeText(n *yaml.Node, path string, t encoding.TextUnmarshaler) {
	if n.Kind != yaml.ScalarNode || isNull(n) {
		want := "a text"
		var v *valueError
		if errors.As(t.UnmarshalText(nil), &v) {
			want = v.want
		}
		d.fieldFault(path, describe(n), want)
		return
	}
	if err := t.UnmarshalText([]byte(n.Value)); err != nil {
		d.textFault(n, path, err)
	}
}

// textFault adds the fault of a text that its own type refused.
func (d *decoder) textFault(n *yaml.Node, path string, err error) {
	var (
		value *valueError
		knob  *plugin.KnobError
		check *verdict.SyntaxError
	)
	switch {
	case errors.As(err, &value):
		d.fieldFault(path, value.is, value.want)
	case errors.As(err, &knob):
		d.fieldFault(path, knob.Is, knob.Want)
	case errors.As(err, &check):
		into := check.Offset
		if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
			into++
		}
		if n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
			into = 0
		}
		d.faultIn(n, into, path+": "+check.What, "want "+check.Want)
	default:
		d.fieldFault(path, quote(n.Value), err.Error())
	}
}

var (
	wholeRE  = regexp.MustCompile(`^[+-]?\d+$`)
	numberRE = regexp.MustCompile(`^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$`)
)

var durationType = reflect.TypeFor[time.Duration]()

func (d *decoder) decodeScalar(n *yaml.Node, path string, v reflect.Value) {
	if n.Kind != yaml.ScalarNode || isNull(n) {
		d.fieldFault(path, describe(n), wanted(v))
		return
	}
	quoted := n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0
	refuse := func() { d.fieldFault(path, describe(n), wanted(v)) }
	switch {
	case v.Type() == durationType:
		var own Duration
		d.decodeText(n, path, &own)
		v.SetInt(int64(own))
	case v.Kind() == reflect.String:
		v.SetString(n.Value)
	case quoted:
		refuse()
	case v.Kind() == reflect.Bool:
		if n.Value != "true" && n.Value != "false" {
			refuse()
			return
		}
		v.SetBool(n.Value == "true")
	case v.CanInt() && wholeRE.MatchString(n.Value):
		i, err := strconv.ParseInt(n.Value, 10, v.Type().Bits())
		if err != nil {
			refuse()
			return
		}
		v.SetInt(i)
	case v.CanUint() && wholeRE.MatchString(n.Value):
		u, err := strconv.ParseUint(strings.TrimPrefix(n.Value, "+"), 10, v.Type().Bits())
		if err != nil {
			refuse()
			return
		}
		v.SetUint(u)
	case v.CanFloat() && numberRE.MatchString(n.Value):
		f, err := strconv.ParseFloat(n.Value, 64)
		if err != nil || math.IsInf(f, 0) {
			refuse()
			return
		}
		v.SetFloat(f)
	default:
		refuse()
	}
}

// wanted says what a scalar of v's type is written as.
func wanted(v reflect.Value) string {
	switch {
	case v.Type() == durationType:
		return wantDuration
	case v.Kind() == reflect.Bool:
		return "true or false"
	case v.CanUint():
		return "a whole number of at least 0"
	case v.CanInt():
		return "a whole number"
	case v.CanFloat():
		return "a number"
	}
	return "a text"
}

// describe says what n is, for "is …".
func describe(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.AliasNode:
		return "an alias"
	case isNull(n):
		return "empty"
	case n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0:
		return "the text " + quote(n.Value)
	case n.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		return "a text"
	}
	if len(n.Value) > longest || n.ShortTag() == "!!str" {
		return quote(n.Value)
	}
	return n.Value
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.ShortTag() == "!!null" }

// join appends a key or an index to a path.
func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

// parent returns path without its last element.
func parent(path string) string {
	return path[:max(strings.LastIndexByte(path, '.'), 0)]
}

// within says where an unknown key stands.
func within(path string) string {
	if path == "" {
		return ""
	}
	return " in " + path
}

// subject names the thing at path.
func subject(path string) string {
	if path == "" {
		return "the profile"
	}
	return path
}
