package live

import "time"

// A relay is the loop's side of a transport whose exchanges run on goroutines of
// their own: they post the calls that are over, and the loop sleeps until the
// post comes or its time does.
type relay struct {
	sleeper
	inbox *inbox[*call]
}

func newRelay(coarse bool, now func() time.Duration) relay {
	s := newSleeper(coarse, now)
	return relay{sleeper: s, inbox: newInbox[*call](s.ready)}
}

func (r *relay) post(c *call)               { r.inbox.post(c) }
func (r *relay) over(spare []*call) []*call { return r.inbox.take(spare) }
