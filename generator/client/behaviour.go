package client

import "time"

// A Behaviour changes what a caller does with its attempts. A profile lists
// behaviours from the outermost to the innermost, and each one sees those
// outside it as its caller and those inside it as its server: what stands
// before a retry sees an original once, with the ending that the last attempt
// had, and what stands behind it sees every attempt. So
//
//	throttle, retry, retry_budget, hedge, breaker, window
//
// throttles originals, repeats what is left, and has budget, breaker and window
// look at repetitions as well.
//
// Behaviours are state machines: time is an argument, in the order of which they
// are called from one goroutine, and randomness is Setup.Rand. They allocate
// nothing per attempt.
type Behaviour interface {
	// Before says whether a, which is about to be sent, may go on.
	//
	//	at <= now, "":  at once
	//	at > now,  "":  at that instant
	//	at <= now, why: no; it is withheld for that reason
	//	at > now,  why: not yet. It is held until a Holder lets it go, and withheld
	//	                for that reason at that instant or, if that comes first, at
	//	                its deadline. Never is an instant as well.
	Before(now time.Duration, a *Attempt) (at time.Duration, why string)
	// After learns what a led to. It is called exactly once for each attempt that
	// Before, or a Planner's Plan, let pass, and for each one that followed from it
	// by the wish of this behaviour. For those that stand outside of a behaviour
	// that tries again, only the last of them counts: its After is for another
	// attempt than its Before.
	//
	// It returns the instant at which to try again, at now or later, and
	// protection.Never not to. A wish to try again after OK or Cancelled, or at or
	// after the deadline, is not heard.
	After(now time.Duration, a *Attempt, e Answer) (again time.Duration)
}

// A Planner has a say when another attempt is planned, before it waits for its
// instant: a retry at its wish, a hedge when its delay is over. A reason refuses
// it. Before is asked as well, as it is sent.
type Planner interface {
	Plan(now time.Duration, a *Attempt) (why string)
}

// A Holder holds attempts back. Release is called after each After, and returns
// an attempt that it held and that may go on now, nil when there is none.
type Holder interface {
	Release(now time.Duration) *Attempt
}

// A Hedger sends further attempts beside one that is not answered yet. Hedge is
// asked when a has passed its Before, which does not delay, and again when the
// attempt has begun that it wished for. It returns the instant at which to begin
// the next one, and protection.Never not to.
//
// What After returns for an attempt that ended badly moves the next one to that
// instant; Never ends the call with this ending and cancels the other attempts.
// A success ends it as well. After NoRetry, and when a further one was withheld, no
// other begins. The call ends with its last attempt otherwise.
type Hedger interface {
	Hedge(now time.Duration, a *Attempt) (at time.Duration)
}

// A Patient takes time of its own. Patience returns the longest that one call
// can take with it when it takes inside without it, and how many attempts it can
// make of one; it leaves out what servers ask for, such as Retry-After.
type Patient interface {
	Patience(inside time.Duration) (longest time.Duration, attempts int)
}

// Patience returns the longest that an original can take with behaviours, when
// each attempt takes at most timeout: what a deadline has to leave for all
// attempts and waits to be made. It is the timeout without behaviours, and at
// most 24 h.
func Patience(behaviours []Behaviour, timeout time.Duration) time.Duration {
	longestCall, _ := patience(behaviours, timeout)
	return longestCall
}

// Attempts returns how many attempts behaviours can make of one original, at
// most: 1 without any.
func Attempts(behaviours []Behaviour) int {
	_, n := patience(behaviours, 0)
	return n
}

// mostAttempts bounds what Attempts returns, so that no product overflows.
const mostAttempts = 1 << 20

func patience(behaviours []Behaviour, timeout time.Duration) (time.Duration, int) {
	attempts := 1
	for i := len(behaviours) - 1; i >= 0; i-- {
		if p, ok := behaviours[i].(Patient); ok {
			call, n := p.Patience(timeout)
			timeout, attempts = min(call, longest), min(attempts*n, mostAttempts)
		}
	}
	return min(timeout, longest), attempts
}
