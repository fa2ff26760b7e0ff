package live

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestAutoInFlight(t *testing.T) {
	for name, test := range map[string]struct {
		rate               float64
		listened           time.Duration
		descriptors, ports int
		want               Bound
	}{
		"by the load":             {1000, 300 * time.Millisecond, 1 << 20, 28232, Bound{439, "load", 439}},
		"by descriptors":          {1000, 300 * time.Millisecond, 64, 28232, Bound{32, Descriptors, 439}},
		"by ports":                {100000, time.Second, 1 << 20, 28232, Bound{25409, Ports, 125064}},
		"no limits known":         {100000, time.Second, 0, 0, Bound{125064, "load", 125064}},
		"hardly any descriptors":  {10, time.Second, 20, 0, Bound{1, Descriptors, 77}},
		"beyond what int32 holds": {1e6, 24 * time.Hour, 0, 0, Bound{1<<31 - 1, "load", 1<<31 - 1}},
	} {
		t.Run(name, func(t *testing.T) {
			if got := autoInFlight(test.rate, test.listened, test.descriptors, test.ports); got != test.want {
				t.Errorf("%+v: want %+v", got, test.want)
			}
		})
	}
	if b := AutoInFlight(1, time.Second, 0, 0); b.N < 1 {
		t.Errorf("on this machine: %v", b)
	}
}

func TestReasonsAreFew(t *testing.T) {
	var r reasons
	for i := range 1000 {
		r.keep(fmt.Sprint("id_", i))
	}
	if len(r.known) != mostReasons {
		t.Errorf("%d reasons are kept: want %d", len(r.known), mostReasons)
	}
	if r.keep("id_3") != "id_3" || r.keep("id_999") != otherReason || r.keep("") != "" {
		t.Error("want known reasons kept and others replaced")
	}
}

func TestCleanReason(t *testing.T) {
	for words, want := range map[string]string{
		"":                       "",
		"queue_full":             "queue_full",
		"Queue full\n":           "queue_full_",
		"a\x00b<ü>":              "a_b____",
		strings.Repeat("x", 100): strings.Repeat("x", 64),
	} {
		if got := cleanReason(words); got != want {
			t.Errorf("%q: %q: want %q", words, got, want)
		}
	}
}
