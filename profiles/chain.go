package profiles

import (
	"strings"

	"go.yaml.in/yaml/v4"
)

// Chain returns the protections of the target as --protect takes them, with the
// knobs that differ from their defaults; "none" when there are none.
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
	usual := &Plugin{Kind: own.Kind}
	for _, e := range p.catalogue().entries {
		if e.name == own.Kind {
			usual.Knobs = e.newKnobs()
		}
	}
	values, defaults := plugInNodeOf(own), plugInNodeOf(usual)
	var knobs []string
	for i := 0; i+1 < len(values.Content); i += 2 {
		name, value := values.Content[i].Value, values.Content[i+1]
		if name == "kind" || sameNode(value, valueOf(defaults, name)) {
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

// inline returns a node on one line.
func inline(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		var parts []string
		for i := 0; i+1 < len(n.Content); i += 2 {
			parts = append(parts, n.Content[i].Value+": "+inline(n.Content[i+1]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case yaml.SequenceNode:
		var parts []string
		for _, item := range n.Content {
			parts = append(parts, inline(item))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return n.Value
}
