package cli

import (
	"cmp"
	"fmt"
	"time"

	"knee/ci/verdict"
	"knee/generator/live"
	"knee/target/serve"
)

// protocol returns the engine that carries the requests, from the flags that name
// it and those that name a version of HTTP.
func (o *runOptions) protocol() (live.Engine, error) {
	r, engine := &o.request, live.Engine(cmp.Or(o.engine, string(live.Auto)))
	var given []string
	for _, f := range []struct {
		name  string
		given bool
	}{{"--http1", r.http1}, {"--http2", r.http2}, {"--h2c", r.h2c}} {
		if f.given {
			given = append(given, f.name)
		}
	}
	two := r.http2 || r.h2c || engine == live.H2 || r.call.call != ""
	switch {
	case len(given) > 1:
		return "", fail(verdict.CodeUsage, "%s with %s: want one of them", given[0], given[1])
	case r.call.call != "" && (r.http1 || engine != live.Auto && engine != live.H2):
		return "", fail(verdict.CodeUsage, "--call: gRPC is carried by HTTP/2: want neither --http1 nor --engine %s", engine)
	case r.http1 && engine == live.H2, (r.http2 || r.h2c) && engine != live.Auto && engine != live.H2:
		return "", fail(verdict.CodeUsage, "%s with --engine %s: want an engine that speaks it, or none", given[0], engine)
	case r.conns < 0:
		return "", fail(verdict.CodeUsage, "--connections %d: want 0 or more", r.conns)
	case r.conns > 0 && !two:
		return "", fail(verdict.CodeUsage, "--connections: want --http2, --h2c or --call as well; connections of HTTP/1.1 carry one request each at a time")
	case two:
		return live.H2, nil
	}
	return engine, nil
}

// checkSchemes refuses servers whose scheme does not go with the version of HTTP.
func (o *runOptions) checkSchemes(out *outgoing) error {
	secure, plain := out.secure()
	switch {
	case o.request.http2 && !secure:
		return fail(verdict.CodeUsage, "--http2: want https URLs; HTTP/2 without TLS is --h2c")
	case o.request.h2c && !plain:
		return fail(verdict.CodeUsage, "--h2c: want http URLs; HTTP/2 over TLS is --http2")
	}
	return nil
}

// streamLimit says that the streams which a server allows were what held requests
// up; "" when none waited.
func streamLimit(s live.StreamTraffic) string {
	if s.Waits == 0 {
		return ""
	}
	text := fmt.Sprintf("the server allows %d streams on a connection, and with the %d there were (--connections) requests waited for one %d times, 99%% of them up to %s",
		s.Limit, s.Conns, s.Waits, s.WaitP99.Round(100*time.Microsecond))
	if s.Unsent > 0 {
		text += fmt.Sprintf("; %d callers gave up before", s.Unsent)
	}
	return text + ": that limit is part of what was measured"
}

// checkFace refuses a version of HTTP that the built-in server does not speak where
// it sheds.
func (s *session) checkFace(engine live.Engine) error {
	if at := serve.Stage(s.profile.Target.ShedAt); engine == live.H2 && at != serve.Handler && at != serve.Late {
		return fail(verdict.CodeUsage, "HTTP/2 with target.shed_at: %s: the built-in server speaks it where it sheds at %s or %s", at, serve.Handler, serve.Late)
	}
	return nil
}
