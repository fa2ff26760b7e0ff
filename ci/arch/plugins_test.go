package arch

import (
	"fmt"
	"go/ast"
	"go/token"
	"slices"
	"strconv"
	"testing"

	"knee/target/protection"
)

// hosts run protections and know none of them but the one that does nothing:
// they must compile when every other one is deleted.
var hosts = []string{"target/server", "target/serve"}

// named says where a host names one of the plug-ins.
func named(p *pkg, plugins []string) []string {
	var problems []string
	for _, f := range p.files {
		ast.Inspect(f, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			if text, err := strconv.Unquote(lit.Value); err == nil && text != "none" && slices.Contains(plugins, text) {
				problems = append(problems, fmt.Sprintf("%s: %s names the protection %q: what differs between protections belongs into their files", p.at(lit), p.dir, text))
			}
			return true
		})
	}
	return problems
}

func TestHostsNameNoProtection(t *testing.T) {
	names := protection.Registry.Names()
	if len(names) < 2 {
		t.Fatalf("registered protections are %q: want more, or this proves nothing", names)
	}
	found := 0
	for _, p := range load(t, root) {
		if slices.Contains(hosts, p.dir) {
			found++
			none(t, named(p, names))
		}
	}
	if found != len(hosts) {
		t.Errorf("%d of the hosts %q are there", found, hosts)
	}
}

func TestHostRuleCanFail(t *testing.T) {
	p := plant(t, "target/serve", "package serve\n\n// codel is fine in a comment.\nfunc slow(kind string) bool { return kind == \"codel\" || kind == \"none\" || kind == \"codels\" }\n")
	only(t, named(p, []string{"none", "codel"}), `target/serve/planted.go:4: target/serve names the protection "codel"`)
}
