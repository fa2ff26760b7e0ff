package cli

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"knee/ci/verdict"
	"knee/generator/client"
	"knee/profiles"
	"knee/target/fault"
	"knee/target/order"
	"knee/target/plugin"
	"knee/target/protection"
)

// A listed thing can be named in a profile or on the command line.
type listed struct {
	Kind  string       `json:"kind"`
	Name  string       `json:"name"`
	Doc   string       `json:"doc"`
	Worse string       `json:"worse,omitempty"`      // when it is worse than a plain bound on the queue
	Wall  bool         `json:"wall_clock,omitempty"` // not in virtual time
	Only  bool         `json:"virtual,omitempty"`    // in virtual time only
	Knobs []listedKnob `json:"knobs,omitempty"`
}

// A listedKnob is a knob of a plug-in.
type listedKnob struct {
	Name    string `json:"name"`
	Default string `json:"default"`
	Doc     string `json:"doc"`
}

// kinds are what can be listed, in the order of `knee list`.
var kinds = []struct {
	name string
	list func() []listed
}{
	{"protections", func() []listed { return plugins("protection", protection.Registry.All()) }},
	{"orders", func() []listed { return plugins("order", order.Registry.All()) }},
	{"faults", func() []listed { return plugins("fault", fault.Registry.All()) }},
	{"clients", func() []listed { return plugins("client", client.Registry.All()) }},
	{"profiles", embedded},
}

func newListCmd(w *world) *cobra.Command {
	var format string
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
	}
	cmd := &cobra.Command{
		Use:   "list [" + strings.Join(names, "|") + "]",
		Short: "what can be plugged in, with knobs, units and defaults",
		Long:  "list prints the protections, queue orders, faults, client behaviours and profiles that this build has.",
		Example: `  knee list
  knee list protections
  knee list profiles --format json`,
		Args:      cobra.MaximumNArgs(1),
		ValidArgs: names,
		RunE:      func(_ *cobra.Command, args []string) error { return runList(w, first(args), format, names) },
	}
	cmd.Flags().StringVar(&format, "format", "text", "text or json")
	return cmd
}

// runList carries out list.
func runList(w *world, kind, format string, names []string) error {
	if kind != "" && !slices.Contains(names, kind) {
		return fail(verdict.CodeUsage, "list %s: want one of %s", kind, strings.Join(names, ", "))
	}
	if format != "text" && format != "json" {
		return fail(verdict.CodeUsage, "--format %s: want text or json", format)
	}
	all := []listed{}
	for _, k := range kinds {
		if kind != "" && kind != k.name {
			continue
		}
		things := k.list()
		if format == "text" {
			printListed(w.stdout, k.name, things)
		}
		all = append(all, things...)
	}
	if format == "json" {
		e := json.NewEncoder(w.stdout)
		e.SetIndent("", "  ")
		return e.Encode(all)
	}
	return nil
}

func printListed(out io.Writer, kind string, things []listed) {
	fmt.Fprintf(out, "%s\n", kind)
	if len(things) == 0 {
		fmt.Fprintf(out, "  none in this version\n")
	}
	width := 0
	for _, t := range things {
		width = max(width, len(t.Name))
	}
	for _, t := range things {
		fmt.Fprintf(out, "  %-*s  %s\n", width, t.Name, t.Doc)
		if t.Worse != "" {
			fmt.Fprintf(out, "  %-*s  worse than a plain bound: %s\n", width, "", t.Worse)
		}
		if t.Wall {
			fmt.Fprintf(out, "  %-*s  reads the wall clock: not with --virtual\n", width, "")
		}
		if t.Only {
			fmt.Fprintf(out, "  %-*s  several servers: with --virtual only\n", width, "")
		}
		for _, k := range t.Knobs {
			fmt.Fprintf(out, "    %-12s %-10s %s\n", k.Name, "("+k.Default+")", k.Doc)
		}
	}
}

// plugins lists the plug-ins of a registry.
func plugins[T any](kind string, infos []plugin.Info[T]) []listed {
	var all []listed
	for _, i := range infos {
		t := listed{Kind: kind, Name: i.Name, Doc: i.Doc, Worse: i.Worse, Wall: i.Wall}
		if i.Knobs != nil {
			for _, k := range plugin.KnobDocs(i.Knobs()) {
				t.Knobs = append(t.Knobs, listedKnob(k))
			}
		}
		all = append(all, t)
	}
	return all
}

// embedded lists the profiles that knee brings along.
func embedded() []listed {
	var all []listed
	entries, err := profiles.Names()
	if err != nil {
		panic(fmt.Sprintf("cli: an embedded profile is wrong: %v", err))
	}
	for _, p := range entries {
		all = append(all, listed{Kind: "profile", Name: p.Name, Doc: p.Doc, Only: p.Virtual})
	}
	return all
}
