package cli

import (
	"context"
	"fmt"
	"testing"

	"knee/ci/verdict"
)

// Whatever a generator can have in flight, find claims nothing beyond the highest
// load that it offered: neither a knee nor a plateau, and it does not pass.
func TestFindClaimsNothingBeyondWhatWasOffered(t *testing.T) {
	verdicts := map[string]bool{}
	for _, inFlight := range []int{12, 40, 100, 200, 300, 2000} {
		w, stdout, _ := quietWorld("find", "--virtual", "--quick", "--format", "json", "--quiet", "--protect", "none",
			"--set", fmt.Sprintf("client.max_in_flight=%d", inFlight))
		code := run(context.Background(), w)
		r := resultIn(t, stdout.Bytes())
		offered, limited := 0.0, false
		for _, s := range r.Steps {
			if s.Valid {
				offered = max(offered, s.OfferedRPS)
			}
			limited = limited || s.Counts.Unsent > s.Counts.Planned/50
		}
		verdicts[r.Knee.Verdict], verdicts[r.Plateau.Verdict] = true, true
		if !limited {
			if r.Generator.Verdict != "ok" {
				t.Errorf("%d in flight: generator %s: everything was offered", inFlight, r.Generator.Verdict)
			}
			continue
		}
		if r.Generator.Verdict != "limited" || code == verdict.CodeOK {
			t.Errorf("%d in flight: generator %s, exit code %d; want limited, and no success", inFlight, r.Generator.Verdict, code)
		}
		if k := r.Knee.RPS; k != nil && *k > offered {
			t.Errorf("%d in flight: a knee of %v/s, where %v/s was offered at most", inFlight, *k, offered)
		}
		if k, x := r.Knee.RPS, r.Plateau.TestedToX; k != nil && x != nil && *k**x > offered*1.001 {
			t.Errorf("%d in flight: tested to %v of %v/s, where %v/s was offered at most", inFlight, *x, *k, offered)
		}
		if r.Plateau.Verdict == "plateau" {
			t.Errorf("%d in flight: a plateau, %s", inFlight, r.Plateau.Why)
		}
	}
	for _, want := range []string{"generator_limited", "found", "collapse"} {
		if !verdicts[want] {
			t.Errorf("no case ended as %s: %v", want, verdicts)
		}
	}
}
