package cli

import (
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"knee/ci/verdict"
	"knee/generator/live"
	"knee/profiles"
)

// runOptions are the flags of the verbs that offer load.
type runOptions struct {
	url      string
	virtual  bool
	seed     uint64
	seedSet  bool
	set      []string
	protect  string
	order    string
	timeout  time.Duration
	quick    bool
	certify  bool
	guarded  bool  // the profile's guards stop the load
	closed   bool  // the load is of callers that wait for each answer
	eps      ratio // of a good load
	bracket  ratio // width of the knee's interval
	max      string
	step     time.Duration
	spikes   spikeOptions
	capacity string
	engine   string
	pin      string
	out      string
	format   string
	quiet    bool
	noTUI    bool
	color    string
	allow    []string
	request  requestOptions
	gate     *gateOptions // of gate alone
	cost     *costOptions // of cost alone
	pair     *pairOptions // of gate alone
}

// requestOptions say what is sent to a server that is not ours.
type requestOptions struct {
	method   string
	headers  []string
	body     string
	bodyFile string
	targets  string
	template bool
	variants count
	connect  []string
	unix     string
	dnsTTL   span
	insecure bool
	http1    bool
	http2    bool
	h2c      bool
	conns    int
	call     callOptions
	reject   []string
	success  []string
}

// addProfile adds the flags that change a profile.
func (o *runOptions) addProfile(f *pflag.FlagSet) {
	f.Uint64Var(&o.seed, "seed", 0, "seed of everything random, in place of the profile's")
	f.StringArrayVar(&o.set, "set", nil, "override one field of the profile: `PATH=VALUE`, repeatable")
	f.Var((*given)(&o.protect), "protect", "protections in place of the profile's: a `CHAIN` of NAME[:knob=value,...] joined by +; none for none")
	f.Var((*given)(&o.order), "order", "queue order in place of the profile's: `NAME[:knob=value,...]`")
	f.Var((*positive)(&o.timeout), "timeout", "timeout of an attempt, in place of the profile's")
}

// addLoad adds the flags of a verb that offers load.
func (o *runOptions) addLoad(f *pflag.FlagSet) {
	o.addProfile(f)
	f.Var((*given)(&o.url), "url", "drive the server at `URL` instead of the built-in one")
	f.BoolVar(&o.virtual, "virtual", false, "run in virtual time, without sockets")
	f.Var((*given)(&o.capacity), "capacity", "capacity of the server, as a `RATE`: what x is a multiple of")
	o.addGenerator(f)
	f.Var((*given)(&o.out), "out", "keep the run in the folder `DIR`")
	o.addOutput(f)
	f.BoolVar(&o.quiet, "quiet", false, "no progress")
	f.BoolVar(&o.noTUI, "no-tui", false, "progress in plain lines, also on a terminal")
	f.StringArrayVar(&o.allow, "allow", nil, "permit load on `HOST`, which is not loopback, repeatable")
	f.StringVar(&o.request.method, "method", "", "`METHOD` of the request (default GET, POST with a body)")
	f.StringArrayVarP(&o.request.headers, "header", "H", nil, "`HEADER` of the request, as NAME: VALUE, repeatable")
	f.StringVar(&o.request.body, "body", "", "body of the request, as `TEXT`")
	f.StringVar(&o.request.bodyFile, "body-file", "", "`FILE` with the body of the request")
	f.Var((*given)(&o.request.targets), "targets", "`FILE` with the requests, in the http or the json format of vegeta, - for stdin; paths in it are of --url: see knee help targets")
	f.BoolVar(&o.request.template, "template", false, "replace {{seq}}, {{random LOW HIGH}} and {{uuid}} in path, headers and body, before the run")
	o.request.variants.of = defaultVariants
	f.Var(&o.request.variants, "variants", "with --template, `N` requests to make of each; then they come again")
	f.StringArrayVar(&o.request.connect, "connect-to", nil, "`HOST1:PORT1:HOST2:PORT2`: connect to the second host in place of the first, each part may be empty, repeatable")
	f.Var((*given)(&o.request.unix), "unix-socket", "connect to the unix socket at `PATH`, whatever host the URL names")
	o.request.dnsTTL.of = defaultDNSTTL
	f.Var(&o.request.dnsTTL, "dns-ttl", "look names up again when what is known is as old as `D`; 0: never")
	f.BoolVar(&o.request.insecure, "insecure", false, "do not check the server's certificate")
	f.BoolVar(&o.request.http1, "http1", false, "speak HTTP/1.1 (the default)")
	f.BoolVar(&o.request.http2, "http2", false, "speak HTTP/2, to an https URL")
	f.BoolVar(&o.request.h2c, "h2c", false, "speak HTTP/2 without TLS, to the built-in server or an http URL whose server is known to speak it")
	f.IntVar(&o.request.conns, "connections", 0, "with --http2 or --h2c, at most `N` connections; 0: as many as the streams need")
	o.request.call.add(f)
	f.StringArrayVar(&o.request.reject, "reject-when", nil, "`RULE` for what is a rejection, repeatable")
	f.StringArrayVar(&o.request.success, "success-when", nil, "`RULE` for what is a success, repeatable")
}

// addGenerator adds the flags that say how requests are generated.
func (o *runOptions) addGenerator(f *pflag.FlagSet) {
	f.StringVar(&o.engine, "engine", string(live.Auto), "what carries the requests: "+engineNames())
	f.StringVar(&o.pin, "pin", pinAuto, "`WHEN` to bind generator and built-in server to CPUs of their own: auto, where there are two, or off")
}

// addOutput adds the flags that say how a result is printed.
func (o *runOptions) addOutput(f *pflag.FlagSet) {
	f.StringVar(&o.format, "format", "text", "`FORMAT` of the result: text or json")
	f.StringVar(&o.color, "color", "auto", "`WHEN` to colour the text: auto, always or never")
}

// check refuses values of flags that are not allowed, before anything is sent.
func (o *runOptions) check() error {
	if !slices.Contains([]string{"text", "json"}, o.format) {
		return fail(verdict.CodeUsage, "--format %s: want text or json", o.format)
	}
	if !slices.Contains([]string{"auto", "always", "never"}, o.color) {
		return fail(verdict.CodeUsage, "--color %s: want auto, always or never", o.color)
	}
	if !slices.Contains([]string{"", pinAuto, pinOff}, o.pin) {
		return fail(verdict.CodeUsage, "--pin %s: want auto or off", o.pin)
	}
	if o.engine != "" && !slices.Contains(live.Engines(), live.Engine(o.engine)) {
		return fail(verdict.CodeUsage, "--engine %s: want %s", o.engine, engineNames())
	}
	if o.remote() && o.virtual {
		flag := "--url"
		if o.url == "" {
			flag = "--targets"
		}
		return fail(verdict.CodeUsage, "%s with --virtual: a server outside knee has no virtual time; want one of them", flag)
	}
	if !o.remote() {
		if flag := o.request.first(); flag != "" && !slices.Contains(ownServer, flag) {
			return fail(verdict.CodeUsage, "%s without --url or --targets: the requests to the built-in server come from the profile", flag)
		} else if flag != "" && o.virtual {
			return fail(verdict.CodeUsage, "%s with --virtual: nothing is sent in virtual time; want one of them", flag)
		}
	}
	if o.request.body != "" && o.request.bodyFile != "" {
		return fail(verdict.CodeUsage, "--body with --body-file: want one of them")
	}
	if _, err := o.protocol(); err != nil {
		return err
	}
	if _, err := o.request.requests(); err != nil {
		return err
	}
	if _, err := o.request.network(); err != nil {
		return err
	}
	if err := o.request.checkTargets(); err != nil {
		return err
	}
	if err := o.request.checkCall(); err != nil {
		return err
	}
	_, err := o.request.rules()
	return err
}

// engineNames lists what --engine can be.
func engineNames() string {
	var names []string
	for _, e := range live.Engines() {
		names = append(names, string(e))
	}
	return strings.Join(names[:len(names)-1], ", ") + " or " + names[len(names)-1]
}

// ownServer are the flags about requests that the built-in server takes, which has
// a face for each version of HTTP, without TLS, and one for gRPC.
var ownServer = []string{"--h2c", "--connections", "--call", "--data", "--data-file", "--binary-file"}

// first returns the first flag that says something about requests, "" when
// there is none; one that the built-in server takes when there is no other.
func (o *requestOptions) first() string {
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"--method", o.method != ""},
		{"--header", len(o.headers) > 0},
		{"--body", o.body != ""},
		{"--body-file", o.bodyFile != ""},
		{"--template", o.template},
		{"--variants", o.variants.given},
		{"--connect-to", len(o.connect) > 0},
		{"--unix-socket", o.unix != ""},
		{"--dns-ttl", o.dnsTTL.given},
		{"--insecure", o.insecure},
		{"--http1", o.http1},
		{"--http2", o.http2},
		{"--reject-when", len(o.reject) > 0},
		{"--success-when", len(o.success) > 0},
		{"--proto", o.call.proto != ""},
		{"--import-paths", len(o.call.paths) > 0},
		{"--protoset", o.call.protoset != ""},
		{"--metadata", o.call.metadata != ""},
		{"--h2c", o.h2c},
		{"--connections", o.conns != 0},
	} {
		if f.given {
			return f.name
		}
	}
	return o.call.first()
}

// capacityRPS returns the rate given with --capacity, 0 when there is none.
func (o *runOptions) capacityRPS() (float64, error) {
	if o.capacity == "" {
		return 0, nil
	}
	r, err := profiles.ParseRate(o.capacity)
	if err != nil || r.X || r.Value == 0 {
		return 0, fail(verdict.CodeUsage, "--capacity %s: want a rate above 0, such as 1000 or 1000/s", o.capacity)
	}
	return r.Value, nil
}

// requests returns what is sent to a server that is not ours.
func (o *requestOptions) requests() ([]live.Request, error) {
	if strings.ContainsFunc(o.method, func(c rune) bool { return (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && c != '-' && c != '_' }) {
		return nil, fail(verdict.CodeUsage, "--method %q: want letters, such as GET", o.method)
	}
	r := live.Request{Method: o.method, Header: http.Header{}, Body: []byte(o.body)}
	if o.bodyFile != "" {
		body, err := os.ReadFile(o.bodyFile)
		if err != nil {
			return nil, fail(verdict.CodeUsage, "--body-file: %w", err)
		}
		r.Body = body
	}
	if r.Method == "" && len(r.Body) > 0 {
		r.Method = http.MethodPost
	}
	for _, h := range o.headers {
		name, value, ok := strings.Cut(h, ":")
		if !ok || strings.TrimSpace(name) == "" {
			return nil, fail(verdict.CodeUsage, "--header %q: want NAME: VALUE", h)
		}
		r.Header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	return []live.Request{r}, nil
}

// tls returns how the server's certificate is checked; nil for the usual checks.
func (o *requestOptions) tls() *tls.Config {
	if !o.insecure {
		return nil
	}
	return &tls.Config{InsecureSkipVerify: true} // asked for with --insecure
}

// rules returns the rules by which answers are judged.
func (o *requestOptions) rules() (live.Rules, error) {
	var rules live.Rules
	for _, list := range []struct {
		flag  string
		given []string
		to    *[]live.Rule
	}{
		{"--reject-when", o.reject, &rules.Reject},
		{"--success-when", o.success, &rules.Success},
	} {
		for _, text := range list.given {
			rule, err := live.ParseRule(text)
			if err != nil {
				return rules, fail(verdict.CodeUsage, "%s %q: %w", list.flag, text, err)
			}
			*list.to = append(*list.to, rule)
		}
	}
	return rules, nil
}

// whereTo are the flags that only say where a result goes, and take a value.
var whereTo = []string{"--out", "--format", "--color", "--junit", "--annotate"}

// repeat is the command that repeats a run: verb and the arguments given,
// without those that only say where the result goes, and without secrets.
func repeat(args []string, seed uint64, seedSet bool) string {
	words := []string{"knee"}
	skip := false
	for i, a := range args {
		switch {
		case skip:
			skip = false
			continue
		case slices.Contains(whereTo, a):
			skip = true
			continue
		case slices.ContainsFunc(whereTo, func(flag string) bool { return strings.HasPrefix(a, flag+"=") }),
			a == "--quiet", a == "--no-tui":
			continue
		}
		header := i > 0 && (args[i-1] == "-H" || args[i-1] == "--header")
		words = append(words, quote(withoutSecrets(a, header)))
	}
	if !seedSet {
		words = append(words, fmt.Sprintf("--seed %d", seed))
	}
	return strings.Join(words, " ")
}

// secretRE finds the headers that carry a secret, and authorityRE the
// credentials of a URL, in which a slash may stand unescaped.
var (
	secretRE    = regexp.MustCompile(`(?i)^(\s*(?:[a-z-]*authorization|cookie|[a-z0-9_-]*(?:token|secret|key|password)[a-z0-9_-]*)\s*:).*$`)
	authorityRE = regexp.MustCompile(`^((?:--url=)?[A-Za-z]+://)(?:[^/?#]*|[^?#:]*:[^?#]*)@`)
)

// withoutSecrets returns an argument without credentials; header says whether
// it is the value of a header.
func withoutSecrets(a string, header bool) string {
	for _, flag := range []string{"--header=", "-H"} {
		if value, ok := strings.CutPrefix(a, flag); ok {
			return flag + withoutSecrets(value, true)
		}
	}
	if header {
		return secretRE.ReplaceAllString(a, "$1 …")
	}
	return authorityRE.ReplaceAllString(a, "$1")
}

// quote returns a as one word of a POSIX shell.
func quote(a string) string {
	if a != "" && !strings.ContainsAny(a, " \t\n'\"\\$&;|<>()*?[]{}~`#!") {
		return a
	}
	return "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
}
