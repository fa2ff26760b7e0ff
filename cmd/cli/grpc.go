package cli

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"

	"knee/ci/verdict"
	"knee/generator/live"
	"knee/generator/unary"
)

// callOptions are the flags of unary calls of gRPC, named as ghz names them.
type callOptions struct {
	call     string
	proto    string
	paths    []string
	protoset string
	data     string
	dataFile string
	binary   string
	metadata string
}

func (o *callOptions) add(f *pflag.FlagSet) {
	f.Var((*given)(&o.call), "call", "call the unary gRPC method `SERVICE/METHOD` of the server, over HTTP/2; the built-in one has knee.v1.Work/Do")
	f.Var((*given)(&o.proto), "proto", "`FILE` that declares the method; without it and --protoset the server is asked")
	f.StringSliceVar(&o.paths, "import-paths", nil, "`DIRS` in which --proto and what it imports are, separated by commas")
	f.Var((*given)(&o.protoset), "protoset", "`FILE` of compiled descriptors that declares the method")
	f.Var((*given)(&o.data), "data", "message of the call, as `JSON`; an array of messages is sent in turn (default {})")
	f.Var((*given)(&o.dataFile), "data-file", "`FILE` with the message of the call, as JSON")
	f.Var((*given)(&o.binary), "binary-file", "`FILE` with the message of the call, encoded")
	f.Var((*given)(&o.metadata), "metadata", "metadata of the call, as `JSON` of names and strings")
}

// first returns the first of the flags that was given, "" when none was.
func (o *callOptions) first() string {
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"--call", o.call != ""},
		{"--proto", o.proto != ""},
		{"--import-paths", len(o.paths) > 0},
		{"--protoset", o.protoset != ""},
		{"--data", o.data != ""},
		{"--data-file", o.dataFile != ""},
		{"--binary-file", o.binary != ""},
		{"--metadata", o.metadata != ""},
	} {
		if f.given {
			return f.name
		}
	}
	return ""
}

// checkCall refuses flags that do not go together.
func (o *requestOptions) checkCall() error {
	c := &o.call
	if c.call == "" {
		if flag := c.first(); flag != "" {
			return fail(verdict.CodeUsage, "%s without --call: want the method to call", flag)
		}
		return nil
	}
	if _, _, err := unary.Split(c.call); err != nil {
		return fail(verdict.CodeUsage, "--%w", err)
	}
	for _, f := range []struct {
		name  string
		given bool
	}{{"--method", o.method != ""}, {"--body", o.body != ""}, {"--body-file", o.bodyFile != ""}} {
		if f.given {
			return fail(verdict.CodeUsage, "%s with --call: the message of a call is --data", f.name)
		}
	}
	if c.proto != "" && c.protoset != "" {
		return fail(verdict.CodeUsage, "--proto with --protoset: want one of them")
	}
	if len(c.paths) > 0 && c.proto == "" {
		return fail(verdict.CodeUsage, "--import-paths without --proto: want the file as well")
	}
	var given []string
	for _, f := range []struct{ name, value string }{{"--data", c.data}, {"--data-file", c.dataFile}, {"--binary-file", c.binary}} {
		if f.value != "" {
			given = append(given, f.name)
		}
	}
	if len(given) > 1 {
		return fail(verdict.CodeUsage, "%s with %s: want one of them", given[0], given[1])
	}
	_, err := c.header()
	return err
}

// header returns the metadata as fields.
func (o *callOptions) header() (http.Header, error) {
	h := http.Header{"Content-Type": {"application/grpc"}, "Te": {"trailers"}}
	if o.metadata == "" {
		return h, nil
	}
	var pairs map[string]string
	if err := json.Unmarshal([]byte(o.metadata), &pairs); err != nil {
		return nil, fail(verdict.CodeUsage, `--metadata: %w: want JSON such as {"name": "value"}`, err)
	}
	for name, value := range pairs {
		if lower := strings.ToLower(name); strings.HasPrefix(lower, "grpc-") || lower == "content-type" || lower == "te" {
			return nil, fail(verdict.CodeUsage, "--metadata %s: that field is gRPC's own", name)
		}
		h.Set(name, value)
	}
	return h, nil
}

// calls returns the calls that are sent to a server that is not ours.
func (o *requestOptions) calls(ctx context.Context, there *reached) ([]live.Request, error) {
	files, err := o.files(ctx, there)
	if err != nil {
		return nil, err
	}
	method, err := unary.Find(files, o.call.call)
	if err != nil {
		return nil, fail(verdict.CodeUsage, "--%w", err)
	}
	bodies, err := o.call.bodies(method)
	if err != nil {
		return nil, err
	}
	header, err := o.call.header()
	if err != nil {
		return nil, err
	}
	plain, err := o.requests() // for the fields of --header
	if err != nil {
		return nil, err
	}
	for name, values := range plain[0].Header {
		header[name] = values
	}
	requests := make([]live.Request, len(bodies))
	for i, body := range bodies {
		requests[i] = live.Request{Method: http.MethodPost, Path: method.Path(), Header: header, Body: body, GRPC: true}
	}
	return requests, nil
}

// bodies returns the messages of the calls.
func (o *callOptions) bodies(method *unary.Method) ([][]byte, error) {
	if o.binary != "" {
		raw, err := os.ReadFile(o.binary)
		if err != nil {
			return nil, fail(verdict.CodeUsage, "--binary-file: %w", err)
		}
		body, err := method.Binary(raw)
		if err != nil {
			return nil, fail(verdict.CodeUsage, "--binary-file %s: %w", o.binary, err)
		}
		return [][]byte{body}, nil
	}
	data := []byte(o.data)
	if o.dataFile != "" {
		var err error
		if data, err = os.ReadFile(o.dataFile); err != nil {
			return nil, fail(verdict.CodeUsage, "--data-file: %w", err)
		}
	}
	bodies, err := method.Bodies(data)
	if err != nil {
		return nil, fail(verdict.CodeUsage, "--%w", err)
	}
	return bodies, nil
}

// longestReflection bounds how long a server may take to describe its methods.
const longestReflection = 10 * time.Second

// files returns what declares the method.
func (o *requestOptions) files(ctx context.Context, there *reached) (unary.Files, error) {
	c := &o.call
	switch {
	case c.proto != "":
		files, err := unary.FromProto(ctx, c.proto, c.paths)
		if err != nil {
			return nil, fail(verdict.CodeUsage, "--proto: %w", err)
		}
		return files, nil
	case c.protoset != "":
		files, err := unary.FromProtoset(c.protoset)
		if err != nil {
			return nil, fail(verdict.CodeUsage, "--protoset: %w", err)
		}
		return files, nil
	}
	secured := insecure.NewCredentials()
	if there.target.Secure() {
		secured = credentials.NewTLS(o.tls())
	}
	conn, err := grpc.NewClient("passthrough:///"+there.target.Address(),
		grpc.WithTransportCredentials(secured), grpc.WithAuthority(there.target.HostField()),
		grpc.WithContextDialer(func(ctx context.Context, _ string) (net.Conn, error) { return there.routes.Dial(ctx, there.target) }))
	if err != nil {
		return nil, fail(verdict.CodeNotStarted, "%w", err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(ctx, longestReflection)
	defer cancel()
	service, _, err := unary.Split(c.call)
	if err != nil {
		return nil, fail(verdict.CodeUsage, "--%w", err)
	}
	files, err := unary.FromReflection(ctx, conn, service)
	switch {
	case errors.Is(err, unary.ErrNoReflection):
		return nil, fail(verdict.CodeNotStarted, "--call: %w: say with --proto or --protoset what the method takes", err)
	case err != nil:
		return nil, fail(verdict.CodeNotStarted, "--call: asking the server: %w", err)
	}
	return files, nil
}
