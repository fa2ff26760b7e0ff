package profiles

import (
	"reflect"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Chain returns the protections of the target as --protect takes them, with the
// knobs that differ from their defaults; "none" when there are none.
//
// The form is NAME[:knob=value,…], joined by "+". A knob that lies within
// another is named by its path, as in partitions.a=0.9, or is part of a mapping
// as YAML has it on one line, as in partitions={a: 0.9}. Commas and plus signs
// between brackets or quotes belong to the value, and so does a plus sign
// before a digit.
func (p *Profile) Chain() string {
	if p.Target == nil || len(p.Target.Protections) == 0 {
		return "none"
	}
	var links []string
	for i := range p.Target.Protections {
		links = append(links, short(&p.Target.Protections[i]))
	}
	return strings.Join(links, "+")
}

// String returns the order as --order takes it, with the knobs that differ from
// their defaults.
func (o Order) String() string { return short(&o) }

// short returns a plug-in as NAME[:knob=value,…].
func short(p pluggable) string {
	own := p.plugin()
	if own.Knobs == nil {
		return own.Kind
	}
	var usual any
	for _, e := range p.catalogue().entries {
		if e.name == own.Kind {
			usual = e.newKnobs()
		}
	}
	values, defaults := nodeOf(reflect.ValueOf(own.Knobs).Elem()), nodeOf(reflect.ValueOf(usual).Elem())
	var knobs []string
	for i := 0; i+1 < len(values.Content); i += 2 {
		name, value := values.Content[i].Value, values.Content[i+1]
		if sameNode(value, valueOf(defaults, name)) {
			continue
		}
		knobs = append(knobs, name+"="+inline(value))
	}
	if len(knobs) == 0 {
		return own.Kind
	}
	return own.Kind + ":" + strings.Join(knobs, ",")
}

// sameNode reports whether two nodes say the same.
func sameNode(a, b *yaml.Node) bool {
	return a != nil && b != nil && inline(a) == inline(b)
}

// bareRE is what reads as itself without quotes, between brackets too.
var bareRE = regexp.MustCompile(`^([\pL\d_]|-\d|-?\.\d)([\pL\d_./%-]|\+\d)*$`)

// inline returns a node on one line of YAML.
func inline(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		var parts []string
		for i := 0; i+1 < len(n.Content); i += 2 {
			parts = append(parts, inline(n.Content[i])+": "+inline(n.Content[i+1]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case yaml.SequenceNode:
		var parts []string
		for _, item := range n.Content {
			parts = append(parts, inline(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	if bareRE.MatchString(n.Value) && !isNull(scalar(n.Value)) {
		return n.Value
	}
	return "'" + strings.ReplaceAll(n.Value, "'", "''") + "'"
}

const wantChain = "want NAME[:knob=value,…]"

// splitLinks splits a chain at the plus signs that join its links.
func splitLinks(chain string) []string {
	return split(chain, func(at int) bool {
		return chain[at] == '+' && (at+1 == len(chain) || chain[at+1] < '0' || chain[at+1] > '9')
	})
}

// split cuts s where cuts says so of a byte outside brackets and quotes.
func split(s string, cuts func(at int) bool) []string {
	var parts []string
	start, depth, quote := 0, 0, byte(0)
	for i := range len(s) {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		case depth == 0 && cuts(i):
			parts = append(parts, s[start:i])
			start = i + 1
		}
	}
	return append(parts, s[start:])
}

// plugInNode makes a mapping of NAME[:knob=value,…].
func plugInNode(s string) (*yaml.Node, *valueError) {
	name, knobs, hasKnobs := strings.Cut(s, ":")
	n := &yaml.Node{Kind: yaml.MappingNode}
	if name = strings.TrimSpace(name); name == "" {
		return nil, &valueError{"a name is missing in " + quote(s), wantChain + ", joined by +"}
	}
	put(n, "kind", scalar(name))
	if !hasKnobs {
		return n, nil
	}
	for _, knob := range split(knobs, func(at int) bool { return knobs[at] == ',' }) {
		key, text, ok := strings.Cut(knob, "=")
		if key = strings.TrimSpace(key); !ok || key == "" {
			return nil, &valueError{quote(knob) + " is not a knob of " + name, wantChain}
		}
		value, err := knobNode(strings.TrimSpace(text))
		if err != nil {
			return nil, err
		}
		if !putNew(n, key, value) {
			return nil, &valueError{"knob " + key + " of " + name + " is given twice", "want it once"}
		}
	}
	return n, nil
}

// knobNode returns the value of a knob: a plain text as it stands, or what YAML
// reads between brackets or quotes.
func knobNode(text string) (*yaml.Node, *valueError) {
	if text == "" || !strings.Contains("{['\"", text[:1]) {
		return scalar(text), nil
	}
	t, faults := parse("", []byte(text))
	if faults != nil {
		return nil, &valueError{quote(text) + " is " + faults[0].What, "want a value in YAML, such as {a: 0.9}"}
	}
	return t.root, nil
}

// putNew sets the key at a path of n, and reports false when it was set before.
func putNew(n *yaml.Node, path string, value *yaml.Node) bool {
	name, rest, deeper := strings.Cut(path, ".")
	if !deeper {
		if valueOf(n, name) != nil {
			return false
		}
		put(n, name, value)
		return true
	}
	within := valueOf(n, name)
	if within == nil {
		within = &yaml.Node{Kind: yaml.MappingNode}
		put(n, name, within)
	}
	return within.Kind == yaml.MappingNode && putNew(within, rest, value)
}
