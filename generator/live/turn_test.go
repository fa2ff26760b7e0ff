package live

import (
	"context"
	"net"
	"testing"
	"testing/synctest"
	"time"
)

// After a turn the next load goes to the other server, and nothing of it to the one
// before, whose connections are closed.
func TestTurn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servers := map[string]*memoryServer{"one:80": prompt(), "two:80": prompt()}
		var o Options
		o.Coarse, o.HTTP.Dial = true, func(ctx context.Context, network, addr string) (net.Conn, error) {
			return servers[addr].dial(ctx, network, addr)
		}
		tr := trip{url: "http://one", rate: 10, length: time.Second, options: o}
		d, series, p := tr.start(t)
		defer d.Close()
		opened := func() [2]int { return [2]int{servers["one:80"].opened, servers["two:80"].opened} }
		for i, to := range []string{"http://one", "http://two", "http://one"} {
			target, err := ParseTarget(to)
			if err != nil {
				t.Fatal(err)
			}
			before := opened()
			if err := d.Turn(target); err != nil {
				t.Fatal(err)
			}
			if n := d.Stats().Open; n != 0 {
				t.Errorf("turn %d: %d connections are open", i, n)
			}
			if err := d.Run(t.Context(), i, p); err != nil {
				t.Fatal(err)
			}
			want, got := before, opened()
			if to == "http://one" {
				want[0] = got[0]
			} else {
				want[1] = got[1]
			}
			if got != want || got == before {
				t.Errorf("turn %d to %s: connections were %v and are %v", i, to, before, got)
			}
			if n := series.Steps()[i].Total; n.Good != 10 || n.Good != n.Planned {
				t.Errorf("turn %d: %d of %d are good, want 10", i, n.Good, n.Planned)
			}
		}
	})
}
