package protection_test

import (
	"testing"
	"time"

	"knee/target/plugin"
	"knee/target/protection"
)

// named checks that err is about one knob, and that it is this one.
func named(t *testing.T, err error, knob string) {
	t.Helper()
	if errs := plugin.KnobErrors(err); len(errs) != 1 || errs[0].Knob != knob {
		t.Errorf("got %v, want one error that names %s", err, knob)
	}
}

// TestShedByLoadLetsTheProtectedIn holds that health checks and the ends of work
// already begun are not starved by what sheds by load, at the heaviest there is.
func TestShedByLoadLetsTheProtectedIn(t *testing.T) {
	heavy := protection.Load{Waiting: 10_000, Running: 10, Admitted: 10_010, Workers: 10, QueuedCost: 10_000, CostRate: 1000}
	for _, name := range []string{"criticality", "cost", "overload_manager", "dagor", "breakwater", "pid", "red", "bbr", "slow_start"} {
		t.Run(name, func(t *testing.T) {
			p := must(t, name, nil)
			ticker, _ := p.(protection.Ticker)
			picker, _ := p.(protection.Picker)
			refused := 0
			for i := range 200_000 {
				now := time.Duration(i) * ms
				if ticker != nil && i%1000 == 0 {
					ticker.Tick(now, heavy)
				}
				if r := (&protection.Request{Cost: 1, Protected: true, Deadline: protection.Never, Expires: protection.Never}); p.Admit(now, r, heavy) != "" {
					t.Fatalf("a protected request was refused at %v", now)
				} else if picker != nil {
					r.Arrived = now - min(now, time.Second)
					picker.Pick(now, r, heavy)
				}
				if p.Admit(now, &protection.Request{Cost: 1}, heavy) != "" {
					refused++
				}
			}
			if refused < 100_000 {
				t.Errorf("%d of 200000 others were refused: want most, or this says little", refused)
			}
		})
	}
}
