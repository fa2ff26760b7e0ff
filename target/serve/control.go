package serve

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/pprof"
	"strings"
	"time"
)

// NewToken returns a random token of 128 bits for a control endpoint.
func NewToken() string {
	var b [16]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// ListenControl listens on addr for a control endpoint. It refuses an address
// that other machines can reach.
func ListenControl(ctx context.Context, addr string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("control address %q: want HOST:PORT, such as 127.0.0.1:0: %w", addr, err)
	}
	ip := net.ParseIP(host)
	if host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("control address %q: want a loopback address, such as 127.0.0.1:0: who can reach it can stop the server", addr)
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("control address %q: %w", addr, err)
	}
	return ln, nil
}

// A Change says what is to be different from now on. What it leaves out stays.
type Change struct {
	Workers *int        `json:"workers,omitempty"` // number of workers, at least 0
	Lift    []int       `json:"lift,omitempty"`    // faults of the profile to take out, by their numbers from 0
	Inject  []Injection `json:"inject,omitempty"`  // faults of the profile to put in
}

// An Injection puts one fault of the profile into the server for some time.
type Injection struct {
	Fault int     `json:"fault"`  // its number in the profile, from 0
	ForMs float64 `json:"for_ms"` // how long it stays if it is not lifted before, above 0, at most a day
}

// maxChange bounds the body of a change, in bytes.
const maxChange = 1 << 16

// Change carries out c: first what it lifts, last what it injects. It does
// nothing when anything in it is out of range.
func (s *Server) Change(c Change) error {
	if c.Workers == nil && len(c.Lift) == 0 && len(c.Inject) == 0 {
		return errors.New("nothing to change: want workers, lift or inject")
	}
	var errs []error
	if c.Workers != nil {
		errs = append(errs, checkWorkers(*c.Workers))
	}
	for _, i := range c.Lift {
		errs = append(errs, s.checkFault(i))
	}
	for _, in := range c.Inject {
		errs = append(errs, s.checkFault(in.Fault), checkLease(in.lease()))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, i := range c.Lift {
		errs = append(errs, s.Lift(i))
	}
	if c.Workers != nil {
		errs = append(errs, s.SetWorkers(*c.Workers))
	}
	for _, in := range c.Inject {
		errs = append(errs, s.Inject(in.Fault, in.lease()))
	}
	return errors.Join(errs...)
}

// lease returns how long the fault stays, 0 for what is no time.
func (in Injection) lease() time.Duration {
	if ns := in.ForMs * float64(time.Millisecond); ns > 0 && ns <= float64(maxLease) {
		return time.Duration(ns)
	}
	return 0
}

// Control returns the control endpoint of s: GET /counts (JSON), GET /metrics
// (Prometheus), GET /profile?seconds=N (where the process spends its CPU, in the
// format of pprof), POST /reset, POST /change, and GET /healthz. All but the last
// want the token as "Authorization: Bearer TOKEN".
func (s *Server) Control(token string) http.Handler {
	guarded := http.NewServeMux()
	guarded.HandleFunc("GET /counts", func(w http.ResponseWriter, _ *http.Request) { writeJSON(w, s.Counts()) })
	guarded.Handle("GET /metrics", s.metrics())
	guarded.HandleFunc("GET /profile", pprof.Profile)
	guarded.HandleFunc("POST /reset", func(w http.ResponseWriter, _ *http.Request) {
		if err := s.Reset(); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	guarded.HandleFunc("POST /change", func(w http.ResponseWriter, r *http.Request) {
		change, err := readChange(http.MaxBytesReader(w, r.Body, maxChange))
		if err == nil {
			err = s.Change(change)
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	open := http.NewServeMux()
	open.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, okBody) })
	open.Handle("/", withToken(token, guarded))
	return open
}

// readChange decodes exactly one change.
func readChange(r io.Reader) (Change, error) {
	var c Change
	d := json.NewDecoder(r)
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return c, fmt.Errorf("reading the change: %w: want JSON with the fields workers, lift, inject", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return c, errors.New("reading the change: more than one JSON value: want one")
	}
	return c, nil
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v)
}

// withToken lets through who has the token. Digests are compared, so that the
// time taken says nothing about the token or its length.
func withToken(token string, next http.Handler) http.Handler {
	want := sha256.Sum256([]byte(token))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		is := sha256.Sum256([]byte(given))
		if token == "" || !bearer || subtle.ConstantTimeCompare(is[:], want[:]) != 1 {
			w.Header().Set("WWW-Authenticate", "Bearer")
			http.Error(w, "want Authorization: Bearer TOKEN", http.StatusUnauthorized)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ServeControl answers on ln with h until ctx is done or ln fails.
func ServeControl(ctx context.Context, ln net.Listener, h http.Handler) error {
	hs := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, ErrorLog: silent}
	stop := context.AfterFunc(ctx, func() { hs.Close() })
	defer stop()
	if err := hs.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
