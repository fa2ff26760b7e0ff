// Package plugin keeps registries of things that can be plugged in by name.
//
// A kind of plug-in (protection, order, fault, client behaviour) has one
// Registry. Each plug-in registers itself from the one file that defines it;
// profiles look it up by the name in their `kind` field.
package plugin

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Info is what a plug-in says about itself: the data behind `knee list`, the
// profile schema and the error for a misspelt name.
type Info[T any] struct {
	// Name is the value of `kind` in a profile: lower case, words joined by "_".
	Name string
	// Doc is one line, without a full stop, that says what the plug-in does.
	Doc string
	// Worse is one line, without a full stop, on when it is worse than a plain
	// bound on the queue; "" where there is nothing to compare.
	Worse string
	// Wall says that it reads the wall clock itself, so that virtual time cannot
	// have it.
	Wall bool
	// Knobs returns a pointer to a struct that holds the defaults. Each exported
	// field is a knob: its `yaml` tag is the name, its `doc` tag says what it
	// does, in which unit, and which values are legal. Nil when there are none.
	Knobs func() any
	// New builds one instance from knobs that were decoded into what Knobs
	// returned. It returns a *KnobError for a value outside its legal range.
	New T
}

// A Registry holds the plug-ins of one kind. The zero value is not usable; see
// NewRegistry. It is filled during program initialisation and read afterwards.
type Registry[T any] struct {
	what   string
	byName map[string]Info[T]
}

// NewRegistry returns an empty registry. what names its contents in messages,
// such as "protection".
func NewRegistry[T any](what string) *Registry[T] {
	return &Registry[T]{what: what, byName: map[string]Info[T]{}}
}

// Register adds a plug-in. It panics on an empty name or doc and on a second
// plug-in of the same name: both are mistakes of the programmer.
func (r *Registry[T]) Register(i Info[T]) {
	if i.Name == "" || i.Doc == "" {
		panic(fmt.Sprintf("plugin: a %s needs a name and a doc line: %+v", r.what, i.Name))
	}
	if _, taken := r.byName[i.Name]; taken {
		panic(fmt.Sprintf("plugin: %s %q registered twice", r.what, i.Name))
	}
	r.byName[i.Name] = i
}

// Lookup returns the plug-in called name. The error of an unknown name lists
// the known ones.
func (r *Registry[T]) Lookup(name string) (Info[T], error) {
	i, ok := r.byName[name]
	if !ok {
		return i, &UnknownError{What: r.what, Name: name, Known: r.Names()}
	}
	return i, nil
}

// Names returns the registered names, sorted.
func (r *Registry[T]) Names() []string {
	names := make([]string, 0, len(r.byName))
	for n := range r.byName {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// All returns the registered plug-ins, sorted by name.
func (r *Registry[T]) All() []Info[T] {
	all := make([]Info[T], 0, len(r.byName))
	for _, n := range r.Names() {
		all = append(all, r.byName[n])
	}
	return all
}

// An UnknownError says that no plug-in has the name asked for.
type UnknownError struct {
	What  string   // the kind of plug-in, such as "protection"
	Name  string   // what was asked for
	Known []string // what there is, sorted
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("unknown %s %q: known are %s", e.What, e.Name, strings.Join(e.Known, ", "))
}

// A KnobError says that one knob of a plug-in has a value outside its range.
type KnobError struct {
	Knob string // the name in the profile
	Is   string // what it is, such as "-1s"
	Want string // what is allowed, such as "a duration above 0"
}

func (e *KnobError) Error() string {
	return fmt.Sprintf("%s is %s: want %s", e.Knob, e.Is, e.Want)
}

// Knob returns a KnobError as an error, for use in constructors.
func Knob(knob string, is any, want string) error {
	return &KnobError{Knob: knob, Is: fmt.Sprint(is), Want: want}
}

// KnobErrors lists the knob errors in err, which may join several.
func KnobErrors(err error) []*KnobError {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []*KnobError
		for _, e := range joined.Unwrap() {
			all = append(all, KnobErrors(e)...)
		}
		return all
	}
	var k *KnobError
	if errors.As(err, &k) {
		return []*KnobError{k}
	}
	return nil
}
