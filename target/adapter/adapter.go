// Package adapter holds protections that are libraries of others, as they are, on the wall clock.
//
// They read the clock, and some draw from the global random source, so virtual
// time refuses them and a seed does not repeat their decisions. Importing the
// package registers them in protection.Registry.
package adapter

import (
	"knee/target/plugin"
	"knee/target/protection"
)

// register adds a protection that reads the wall clock.
func register(i plugin.Info[protection.New]) {
	i.Wall = true
	protection.Registry.Register(i)
}
