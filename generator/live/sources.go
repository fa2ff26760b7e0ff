package live

import (
	"net/netip"
	"sync"
	"time"
)

// sources choose the addresses of this machine from which connections to
// addresses of this machine are opened. There are no more connections from one
// address to another one's port than there are local ports; but all of 127.0.0.0/8
// is this machine.
type sources struct {
	most  int // connections from one address; 0: no limit is known
	mu    sync.Mutex
	known map[netip.AddrPort][]source // by where they go; the first is what the kernel chooses
}

// A source is one address to connect from.
type source struct {
	open int
	full time.Time // when a port was last looked for in vain
}

// mostSources is how many addresses are used: 127.0.0.1 to 127.0.0.250.
const mostSources = 250

// newSources returns sources with room for so many connections from each address,
// less a tenth of them, which connections that were closed a moment ago and other
// programs may hold.
func newSources(ports int) *sources {
	return &sources{most: ports - ports/10, known: map[netip.AddrPort][]source{}}
}

// hasSources reports whether e can be connected to from more than one address.
func hasSources(e endpoint) bool {
	a := e.addr.Addr()
	return e.network == "tcp" && a.Is4() && a.IsLoopback()
}

// take returns the address for one more connection to e, the lowest that has room.
// The zero value leaves the choice to the kernel.
func (s *sources) take(e endpoint, now time.Time) netip.Addr {
	if s.most <= 0 || !hasSources(e) {
		return netip.Addr{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.known[e.addr]
	for i := range all {
		if all[i].open < s.most && now.Sub(all[i].full) >= passedOver {
			all[i].open++
			return sourceAddr(i)
		}
	}
	if len(all) == mostSources {
		all[0].open++
		return netip.Addr{}
	}
	s.known[e.addr] = append(all, source{open: 1})
	return sourceAddr(len(all))
}

// full says that no port was left for e.
func (s *sources) full(e endpoint, now time.Time) { s.change(e, func(f *source) { f.full = now }) }

// give takes back what take gave.
func (s *sources) give(e endpoint) { s.change(e, func(f *source) { f.open-- }) }

func (s *sources) change(e endpoint, change func(*source)) {
	if s.most <= 0 || !hasSources(e) {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if all, i := s.known[e.addr], sourceIndex(e.local); i < len(all) {
		change(&all[i])
	}
}

// sourceAddr and sourceIndex tell which addresses the sources are: none, for what
// the kernel chooses, then 127.0.0.2 and so on.

func sourceAddr(i int) netip.Addr {
	if i == 0 {
		return netip.Addr{}
	}
	return netip.AddrFrom4([4]byte{127, 0, 0, byte(i + 1)})
}

func sourceIndex(a netip.Addr) int {
	if !a.IsValid() {
		return 0
	}
	return int(a.As4()[3]) - 1
}
