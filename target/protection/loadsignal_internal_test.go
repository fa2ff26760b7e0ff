package protection

import (
	"math"
	"testing"
	"time"
)

func TestLoadSignal(t *testing.T) {
	const ms = time.Millisecond
	setup := Setup{Workers: 10, Service: 20 * ms}
	queue := Load{Waiting: 50, Running: 10, Admitted: 60, Workers: 10, QueuedCost: 50, CostRate: 500, Oldest: 930 * ms}
	empty := Load{Running: 10, Admitted: 10, Workers: 10, CostRate: 500, Oldest: Never}
	for _, tt := range []struct {
		name     string
		kind     string
		inFlight int
		load     Load
		want     float64
	}{
		{"50 at 500/s are 100ms, the setpoint", signalWait, 0, queue, 1},
		{"the wait for nobody", signalWait, 0, empty, 0},
		{"the wait for nobody, without workers", signalWait, 0, Load{}, 0},
		{"the wait for no workers", signalWait, 0, Load{Waiting: 1, QueuedCost: 1}, maxSignal},
		{"the wait for nothing by no workers", signalWait, 0, Load{Waiting: 1}, maxSignal},
		{"the oldest came 70ms ago", signalAge, 0, queue, 0.7},
		{"there is no oldest", signalAge, 0, empty, 0},
		{"an oldest from the future", signalAge, 0, Load{Waiting: 1, Oldest: 2 * time.Second}, 0},
		{"60 of 30", signalInFlight, 30, queue, 2},
		{"60 of 10 workers and 50 in the queue", signalInFlight, 0, queue, 1},
		{"10 of 60", signalInFlight, 0, empty, 1.0 / 6},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := newLoadSignal(setup, tt.kind, 100*ms, tt.inFlight)
			if err != nil {
				t.Fatal(err)
			}
			if got := s.at(time.Second, &tt.load); math.Abs(got-tt.want) > 1e-9 {
				t.Errorf("load %v, want %v", got, tt.want)
			}
		})
	}
}
