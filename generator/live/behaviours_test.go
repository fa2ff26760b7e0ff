package live

import (
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	"knee/generator/client"
)

func TestCredits(t *testing.T) {
	for name, c := range map[string]struct {
		header  http.Header
		want    int
		granted bool
	}{
		"none":      {http.Header{}, 0, false},
		"some":      {http.Header{"Knee-Credits": {"12"}}, 12, true},
		"no credit": {http.Header{"Knee-Credits": {"0"}}, 0, true},
		"negative":  {http.Header{"Knee-Credits": {"-1"}}, 0, false},
		"a word":    {http.Header{"Knee-Credits": {"many"}}, 0, false},
		"too many":  {http.Header{"Knee-Credits": {"99999999999"}}, 0, false},
	} {
		var j judge
		if got := j.answer(200, httpFields(c.header), nil); got.Granted != c.granted || got.Granted && got.Credits != c.want {
			t.Errorf("%s: %d, %v: want %d, %v", name, got.Credits, got.Granted, c.want, c.granted)
		}
	}
}

// What failed before a byte of the request was sent is known not to have been
// done; anything else may have been.
func TestWhichFailuresAreUncertain(t *testing.T) {
	for kind, want := range map[string]bool{
		Refused: false, Unreachable: false, ConnectTimeout: false, DNS: false, TLS: false, Connect: false, ResetConnect: false,
		ResetUpload: true, ResetIdle: true, Reset: true, EOF: true, ShortHead: true, ShortBody: true, ResetBody: true,
		Malformed: true, HeadTooLarge: true, TooManyInterim: true,
		NotH2: false, H2GoAway: false, "h2_refused_stream": false, "h2_internal_error": true,
		statusReason(500): false, statusReason(502): true,
	} {
		if got := client.Uncertain(client.Answer{Result: client.Failed, Reason: kind}); got != want {
			t.Errorf("%s is uncertain: %v, want %v", kind, got, want)
		}
	}
}

// A server sees which attempt it is, and is heard when it asks not to be tried
// again.
func TestRetriesOverHTTP(t *testing.T) {
	overPlain(t, func(t *testing.T, engine Engine) {
		var mu sync.Mutex
		seen := map[string]int{}
		_, url := serveHTTP(t, func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			attempt := r.Header.Get("Knee-Attempt")
			seen[attempt]++
			switch {
			case attempt == "3":
				return
			case seen[attempt]%2 == 0 && attempt == "2":
				w.Header().Set("Knee-Retry", "no")
			}
			w.Header().Set("Knee-Reason", "busy")
			w.WriteHeader(http.StatusServiceUnavailable)
		})
		info, err := client.Registry.Lookup("retry")
		if err != nil {
			t.Fatal(err)
		}
		retry, err := info.New(client.Setup{Clients: 1, Rand: rand.New(rand.NewPCG(1, 2))}, info.Knobs())
		if err != nil {
			t.Fatal(err)
		}
		r := trip{
			url: url, rate: 100, length: 200 * time.Millisecond, options: Options{Engine: engine, Knee: true},
			client: client.Options{Behaviours: []client.Behaviour{retry}},
		}.run(t)
		mu.Lock() // the event loop's reads and writes are none to the race detector
		defer mu.Unlock()
		total := r.tally
		n := int(total.Planned)
		if seen["1"] != n || seen["2"] != n || seen["3"] != n-n/2 || int(total.Attempts) != seen["1"]+seen["2"]+seen["3"] {
			t.Errorf("%v of %d originals and %d attempts: want all twice, and half of them a third time", seen, n, total.Attempts)
		}
		if int(total.Good) != n-n/2 || int(total.RejectedBy["busy"]) != n/2 {
			t.Errorf("%+v: want half good and half rejected as busy", total)
		}
	})
}
