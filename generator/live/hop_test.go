package live

import (
	"slices"
	"strings"
	"testing"
)

func TestParseConnectTo(t *testing.T) {
	for rule, want := range map[string]map[string]string{ // where what goes to the key goes instead
		"a:80:b:81":            {"a:80": "b:81", "A:80": "b:81", "a:81": "a:81", "c:80": "c:80"},
		"::b:81":               {"a:80": "b:81", "c:443": "b:81"},
		"a:80::81":             {"a:80": "a:81"},
		"a::b:":                {"a:80": "b:80", "a:443": "b:443"},
		":80:b:":               {"a:80": "b:80", "a:443": "a:443"},
		":::":                  {"a:80": "a:80"},
		"[::1]:80:127.0.0.1:":  {"[::1]:80": "127.0.0.1:80", "[::2]:80": "[::2]:80"},
		"a:80:[fe80::1%lo]:81": {"a:80": "[fe80::1%lo]:81"},
	} {
		c := connectTo(t, rule)
		for from, to := range want {
			target, err := ParseTarget("http://" + from)
			if err != nil {
				t.Fatal(err)
			}
			routes, err := NewRoutes(HTTP{ConnectTo: []ConnectTo{c}}, target)
			if err != nil {
				t.Fatal(err)
			}
			if got := routes.order[0].hop.String(); got != to {
				t.Errorf("%s: %s goes to %s: want %s", rule, from, got, to)
			}
		}
	}
}

// The first rule that fits counts, as with curl.
func TestFirstConnectToCounts(t *testing.T) {
	target, err := ParseTarget("http://a:80")
	if err != nil {
		t.Fatal(err)
	}
	rules := []ConnectTo{connectTo(t, "b:80:x:1"), connectTo(t, "a::y:2"), connectTo(t, "::z:3")}
	routes, err := NewRoutes(HTTP{ConnectTo: rules}, target)
	if err != nil {
		t.Fatal(err)
	}
	if got := routes.order[0].hop.String(); got != "y:2" {
		t.Errorf("goes to %s: want y:2", got)
	}
	if got := routes.Unused(); !slices.Equal(got, []int{0, 2}) {
		t.Errorf("unused are %v: want the first, which fits nothing, and the third, which comes too late", got)
	}
}

func TestParseConnectToRefuses(t *testing.T) {
	const form = ": want HOST1:PORT1:HOST2:PORT2, each of them or empty, IPv6 addresses in brackets"
	for rule, want := range map[string]string{
		"":                "not four parts",
		"a:80":            "not four parts",
		"a:80:b":          "not four parts",
		"a:80:b:81:c":     "not four parts",
		"::1:80:b:81":     "not four parts",
		"a:0:b:81":        "port 0: want 1 to 65535",
		"a:80:b:65536":    "port 65536: want 1 to 65535",
		"a:http:b:81":     "port http: want 1 to 65535",
		"[::1:80:b:81":    "a bracket is not closed",
		"[a]:80:b:81":     `host "[a]": want a name or an address`,
		"[::1]x:80:b:81":  `host "[::1]x": want a name or an address`,
		"http://a:80:b:1": "not four parts",
		"a:80:b c:81":     `host "b c": want a name or an address`,
	} {
		_, err := ParseConnectTo(rule)
		if err == nil || !strings.HasSuffix(err.Error(), want+form) {
			t.Errorf("%q: error %v: want %s", rule, err, want+form)
		}
	}
}

func FuzzParseConnectTo(f *testing.F) {
	f.Add("a:80:b:81")
	f.Add("[::1%lo]:80::")
	f.Fuzz(func(t *testing.T, rule string) {
		c, err := ParseConnectTo(rule)
		if err != nil {
			return
		}
		if from := c.apply(c.from); c.to.port != "" && from.number() == 0 {
			t.Errorf("%q: port %q", rule, from.port)
		}
	})
}
