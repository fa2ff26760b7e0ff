package serve

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// control asks the control endpoint of s with a header Authorization.
func control(s *Server, authorization, method, path, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	w := httptest.NewRecorder()
	s.Control("secret").ServeHTTP(w, r)
	return w
}

func TestControlWantsTheToken(t *testing.T) {
	s := newServer(t, nil, nil)
	for _, c := range []struct{ method, path string }{
		{"GET", "/counts"}, {"GET", "/profile"}, {"POST", "/reset"}, {"POST", "/change"}, {"GET", "/nothing"},
	} {
		for _, authorization := range []string{"", "secret", "Bearer ", "Bearer wrong", "Bearer secret2", "Basic secret", "bearer secret"} {
			if got := control(s, authorization, c.method, c.path, `{"workers":7}`).Code; got != http.StatusUnauthorized {
				t.Errorf("%s %s with %q: status %d, want 401", c.method, c.path, authorization, got)
			}
		}
	}
	if n := s.Counts(); n.Workers != 1 {
		t.Errorf("%d workers: somebody without the token changed them", n.Workers)
	}
	if got := control(s, "", "GET", "/healthz", "").Code; got != http.StatusOK {
		t.Errorf("healthz: status %d, want 200 without a token", got)
	}
	r := httptest.NewRequest("GET", "/counts", nil)
	r.Header.Set("Authorization", "Bearer ")
	w := httptest.NewRecorder()
	s.Control("").ServeHTTP(w, r)
	if w.Code != http.StatusUnauthorized {
		t.Errorf("status %d: an empty token lets nobody in", w.Code)
	}
}

func TestControl(t *testing.T) {
	for name, c := range map[string]struct {
		method, path, body string
		status             int
		says               string
		workers            int
	}{
		"change workers":   {"POST", "/change", `{"workers":3}`, 204, "", 3},
		"no workers":       {"POST", "/change", `{"workers":0}`, 204, "", 0},
		"negative workers": {"POST", "/change", `{"workers":-1}`, 400, "workers is -1: want at least 0", 1},
		"unknown field":    {"POST", "/change", `{"wrokers":3}`, 400, `unknown field "wrokers"`, 1},
		"nothing":          {"POST", "/change", `{}`, 400, "nothing to change: want workers, lift or inject", 1},
		"two values":       {"POST", "/change", `{"workers":3} {"workers":4}`, 400, "want one", 1},
		"no JSON":          {"POST", "/change", `workers=3`, 400, "reading the change", 1},
		"too long":         {"POST", "/change", `{"workers":` + strings.Repeat(" ", maxChange) + `3}`, 400, "too large", 1},
		"reset":            {"POST", "/reset", "", 204, "", 1},
		"get a reset":      {"GET", "/reset", "", 405, "", 1},
		"counts":           {"GET", "/counts", "", 200, `"workers":1`, 1},
		"no such path":     {"GET", "/", "", 404, "", 1},
	} {
		s := newServer(t, nil, nil)
		w := control(s, "Bearer secret", c.method, c.path, c.body)
		if w.Code != c.status || !strings.Contains(w.Body.String(), c.says) {
			t.Errorf("%s: status %d, %q; want %d, %q", name, w.Code, w.Body, c.status, c.says)
		}
		if n := s.Counts(); n.Workers != c.workers {
			t.Errorf("%s: %d workers, want %d", name, n.Workers, c.workers)
		}
	}
}

func TestCountsComeBackFromJSON(t *testing.T) {
	s := newServer(t, &gate{open: 1}, nil)
	ask(s, nil)
	ask(s, nil)
	var got Counts
	if err := json.Unmarshal(control(s, "Bearer secret", "GET", "/counts", "").Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	core := got.Core()
	if core.Arrived != 2 || core.Served != 1 || core.Refused["closed"] != 1 || got.ShedAt != Handler {
		t.Errorf("%+v", got)
	}
}

func TestControlStaysOnThisMachine(t *testing.T) {
	for _, addr := range []string{"0.0.0.0:0", ":0", "[::]:0", "192.0.2.1:0", "example.com:0", "127.0.0.1"} {
		if ln, err := ListenControl(context.Background(), addr); err == nil {
			ln.Close()
			t.Errorf("listening on %s, which is not loopback", addr)
		} else if !strings.Contains(err.Error(), "want") {
			t.Errorf("%s: %v: does not say what is wanted", addr, err)
		}
	}
	ln, err := ListenControl(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
}

func TestTokensAreRandom(t *testing.T) {
	a, b := NewToken(), NewToken()
	if a == b || len(a) != 32 {
		t.Errorf("tokens %q and %q: want 32 different digits", a, b)
	}
}
