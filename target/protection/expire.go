package protection

import "time"

// ExpireAt has the core drop r from the queue for the reason given when at
// comes, unless it is to be dropped earlier.
func (r *Request) ExpireAt(at time.Duration, why Reason) {
	if at < r.Expires {
		r.Expires, r.ExpiresBy = at, why
	}
}
