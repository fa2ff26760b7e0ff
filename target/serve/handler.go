package serve

import (
	"io"
	"net/http"
	"strconv"
	"time"

	"knee/target/server"
	"knee/target/wire"
)

// headersRead pairs the canonical names of the headers that are read with the
// names by which Server.header knows them.
var headersRead = [...]struct{ canonical, lower string }{
	{wire.Class, headerClass},
	{wire.Client, headerClient},
	{wire.WorkNs, headerWork},
	{wire.TimeoutMs, headerTimeout},
	{wire.Tenant, headerTenant},
	{wire.Criticality, headerCriticality},
	{wire.Cost, headerCost},
	{wire.Attempt, headerAttempt},
	{wire.Protected, headerProtected},
	{wire.GRPCTimeout, headerGRPC},
	{wire.EnvoyTimeout, headerEnvoy},
}

// okBody is the body of every answer with status 200.
const okBody = "ok\n"

// serveHTTP is the handler and late stages: the request through net/http.
// net/http itself reads up to 256 KB of a body that was refused unread, to keep
// the connection.
func (s *Server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	if isCall(r) {
		s.serveCall(w, r)
		return
	}
	c := s.take()
	defer s.give(c)
	s.readFacts(c, r)
	if s.cfg.ShedAt == Late && !s.prepareHTTP(r) {
		http.Error(w, "the body cannot be read", http.StatusBadRequest)
		return
	}
	if s.cfg.ShedAt == Late || r.ContentLength == 0 {
		s.arrive(c)
		writeAnswer(w, r, s.await(c))
		return
	}
	if in := s.admit(c); !in {
		writeAnswer(w, r, <-c.signals)
		return
	}
	if !s.prepareHTTP(r) {
		s.release(c, ReasonMalformed)
		http.Error(w, "the body cannot be read", http.StatusBadRequest)
		return
	}
	writeAnswer(w, r, s.work(c))
}

// readFacts fills in what the head of r says.
func (s *Server) readFacts(c *call, r *http.Request) {
	c.facts.arrived, c.facts.bytes = s.now(), max(0, r.ContentLength)
	for _, h := range headersRead {
		if v := r.Header[h.canonical]; len(v) > 0 {
			s.header(c, h.lower, v[0])
		}
	}
}

// work lets c, which was let in, wait for a worker and be served, and returns
// how that ended.
func (s *Server) work(c *call) signal {
	s.enqueue(c)
	return s.await(c)
}

// await returns how c, which the core has, ends. On the way there it does the
// work of c if that is not imaginary.
func (s *Server) await(c *call) signal {
	for {
		g := <-c.signals
		if g.kind != server.Start {
			return g
		}
		burn(g.work, &c.over, &s.barrier)
		s.finish(c)
	}
}

// prepareHTTP reads r's body and prepares it; false means that it cannot be read.
func (s *Server) prepareHTTP(r *http.Request) bool {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	if err != nil || len(body) > maxBody {
		return false
	}
	s.prepare(body, r.Header.Get(wire.Signature))
	return true
}

// Values of headers that are the same for many answers.
var (
	plainText = []string{"text/plain; charset=utf-8"}
	one       = []string{"1"}
	no        = []string{"no"}
	okLength  = []string{strconv.Itoa(len(okBody))}
)

// writeAnswer answers r, which ended as g says, through net/http.
func writeAnswer(w http.ResponseWriter, r *http.Request, g signal) {
	if g.kind == server.Sever {
		io.Copy(io.Discard, io.LimitReader(r.Body, maxSkip)) // to close on unread bytes would be a reset
		panic(http.ErrAbortHandler)
	}
	h, a := w.Header(), &g.answer
	h["Content-Type"] = plainText
	if a.Granted {
		h[wire.Credits] = []string{strconv.Itoa(a.Credits)}
	}
	if status := g.status(); status != http.StatusOK {
		if wait := g.retryAfter(); wait > 0 {
			h[wire.RetryAfter] = []string{string(wire.AppendRetryAfter(nil, wait))}
			h[wire.RetryAfterMs] = []string{string(wire.AppendMillis(nil, a.RetryAfter))}
		}
		if a.NoRetry {
			h[wire.Retry] = no
		}
		h[wire.Reason] = []string{string(a.Reason)}
		h["Content-Length"] = []string{strconv.Itoa(len(a.Reason) + 1)}
		w.WriteHeader(status)
		io.WriteString(w, string(a.Reason)+"\n")
		return
	}
	if a.Degraded {
		h[wire.Degraded] = one
	}
	h["Content-Length"] = okLength
	io.WriteString(w, okBody)
}

// newHTTPServer returns the listener of the handler and late stages.
func (s *Server) newHTTPServer() *http.Server {
	protocols := new(http.Protocols)
	protocols.SetHTTP1(true)
	protocols.SetUnencryptedHTTP2(true)
	return &http.Server{
		Handler:           http.HandlerFunc(s.serveHTTP),
		ReadHeaderTimeout: idleTimeout,
		IdleTimeout:       idleTimeout,
		ErrorLog:          silent,
		Protocols:         protocols,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: 1 << 20},
	}
}

// idleTimeout is how long a connection may be silent between requests, and how
// long the head of a request may take.
const idleTimeout = 2 * time.Minute
