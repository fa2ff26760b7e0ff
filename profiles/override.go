package profiles

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"
)

// Overrides are what the command line changes in a profile, and what it brings
// to its reading. The zero value changes nothing. They apply in the order Set,
// Protect, Order, Timeout, Seed.
type Overrides struct {
	// Set holds PATH=VALUE, as of --set: a path of keys and indices joined by
	// dots, such as load.phases.1.rate, and a value in YAML.
	Set []string
	// Protect replaces target.protections: NAME[:knob=value,…] joined by "+", see
	// Profile.Chain; "none" empties them, "" leaves them.
	Protect string
	// Order replaces target.order: NAME[:knob=value,…]; "" leaves it.
	Order string
	// Timeout sets client.timeout and returns client.deadline to its default; 0 leaves both.
	Timeout time.Duration
	Seed    *uint64
	// Capacity is what x in a rate is a multiple of, in requests per second,
	// when the profile has no target; 0 is unknown.
	Capacity float64
	// URL says that another server is driven: the target is left out, and x
	// may stay unknown until the capacity was found.
	URL bool
	// Virtual says that the run is in virtual time, which has no wall clock for
	// plug-ins to read.
	Virtual bool

	Stdin    io.Reader                         // of the profile "-"; nil: there is none
	ReadFile func(name string) ([]byte, error) // nil: the operating system's, but no further than MaxSize
}

// apply changes t, and reports what cannot be applied.
func (o Overrides) apply(t *tree) Faults {
	var faults Faults
	if t.root.Kind != yaml.MappingNode {
		return nil // the decoder says so
	}
	for _, s := range o.Set {
		path, _, _ := strings.Cut(s, "=")
		if err := t.set(s); err != nil {
			faults = append(faults, &Fault{Origin: "--set " + path, What: err.is, Want: err.want})
		}
	}
	if o.Protect != "" {
		faults = append(faults, o.applyChain(t)...)
	}
	if o.Order != "" {
		n, err := plugInNode(o.Order)
		if err != nil {
			faults = append(faults, &Fault{Origin: "--order", What: err.is, Want: err.want})
		} else if f := o.targetOf(t, "--order"); f != nil {
			faults = append(faults, f)
		} else {
			t.mark(n, "--order")
			put(valueOf(t.root, "target"), "order", n)
		}
	}
	if o.Timeout != 0 {
		n := scalar(Duration(o.Timeout).String())
		t.mark(n, "--timeout")
		c := child(t.root, "client")
		put(c, "timeout", n)
		remove(c, "deadline")
	}
	if o.Seed != nil {
		put(t.root, "seed", scalar(strconv.FormatUint(*o.Seed, 10)))
	}
	return faults
}

func (o Overrides) applyChain(t *tree) Faults {
	if f := o.targetOf(t, "--protect"); f != nil {
		return Faults{f}
	}
	chain := &yaml.Node{Kind: yaml.SequenceNode}
	if o.Protect != "none" {
		for _, link := range splitLinks(o.Protect) {
			n, err := plugInNode(link)
			if err != nil {
				return Faults{{Origin: "--protect", What: err.is, Want: err.want}}
			}
			chain.Content = append(chain.Content, n)
		}
	}
	t.mark(chain, "--protect")
	put(valueOf(t.root, "target"), "protections", chain)
	return nil
}

// targetOf says that a flag about the built-in server has none to change.
func (o Overrides) targetOf(t *tree, flag string) *Fault {
	if o.URL {
		return &Fault{Origin: flag, What: "another server is driven", Want: "want it without --url: it changes the built-in server"}
	}
	if n := valueOf(t.root, "target"); n == nil || n.Kind != yaml.MappingNode {
		return &Fault{Origin: flag, What: t.file + " has no target", Want: "want a profile with one: it changes the built-in server"}
	}
	return nil
}

// set carries out one PATH=VALUE. It makes the mappings on the way, but no
// elements of lists.
func (t *tree) set(s string) *valueError {
	path, text, ok := strings.Cut(s, "=")
	if !ok || path == "" {
		return &valueError{"not an assignment", "want PATH=VALUE, such as client.timeout=200ms"}
	}
	value := scalar("")
	if strings.TrimSpace(text) != "" {
		parsed, faults := parse("", []byte(text))
		if faults != nil {
			return &valueError{quote(text) + " is " + faults[0].What, "want a value in YAML, such as 200ms, [] or {kind: fifo}"}
		}
		value = parsed.root
	}
	t.mark(value, "--set "+path)
	at := t.root
	elements := strings.Split(path, ".")
	for i, element := range elements {
		last := i == len(elements)-1
		switch {
		case element == "":
			return &valueError{"an empty name in the path", "want names and indices joined by dots"}
		case at.Kind == yaml.SequenceNode:
			k, err := strconv.Atoi(element)
			if err != nil || k < 0 || k >= len(at.Content) {
				return &valueError{quote(element) + " is no index of " + strings.Join(elements[:i], "."), indices(len(at.Content))}
			}
			if last {
				at.Content[k] = value
			}
			at = at.Content[k]
		case at.Kind != yaml.MappingNode:
			return &valueError{strings.Join(elements[:i], ".") + " is " + describe(at), "want a path that ends there"}
		case last:
			put(at, element, value)
			t.flags[keyOf(at, element)] = "--set " + path
		default:
			before := len(at.Content)
			next := child(at, element)
			if len(at.Content) > before {
				t.mark(keyOf(at, element), "--set "+path)
				t.mark(next, "--set "+path)
			}
			at = next
		}
	}
	return nil
}

func indices(n int) string {
	if n == 0 {
		return "the list is empty: set it as a whole"
	}
	return fmt.Sprintf("want 0 to %d", n-1)
}

// scalar returns a plain scalar.
func scalar(text string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Value: text}
	if text == "" {
		n.Style = yaml.DoubleQuotedStyle
	}
	return n
}

// put sets a key of a mapping.
func put(n *yaml.Node, key string, value *yaml.Node) {
	if i := indexOf(n, key); i >= 0 {
		n.Content[i+1] = value
		return
	}
	n.Content = append(n.Content, scalar(key), value)
}

// remove takes a key out of a mapping.
func remove(n *yaml.Node, key string) {
	if i := indexOf(n, key); i >= 0 {
		n.Content = slices.Delete(n.Content, i, i+2)
	}
}

// child returns the value of a key, which becomes an empty mapping when there
// is none.
func child(n *yaml.Node, key string) *yaml.Node {
	if i := indexOf(n, key); i >= 0 && !isNull(n.Content[i+1]) {
		return n.Content[i+1]
	}
	put(n, key, &yaml.Node{Kind: yaml.MappingNode})
	return valueOf(n, key)
}

// valueOf returns the value of the first key called key, nil when there is none.
func valueOf(n *yaml.Node, key string) *yaml.Node {
	if i := indexOf(n, key); i >= 0 {
		return n.Content[i+1]
	}
	return nil
}

func keyOf(n *yaml.Node, key string) *yaml.Node { return n.Content[indexOf(n, key)] }

// indexOf returns the index of a key in n.Content, -1 when there is none.
func indexOf(n *yaml.Node, key string) int {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Kind == yaml.ScalarNode && n.Content[i].Value == key {
			return i
		}
	}
	return -1
}
