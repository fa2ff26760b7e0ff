package fleet

import (
	"time"

	"knee/generator/client"
	"knee/generator/plan"
	"knee/generator/record"
	"knee/target/protection"
)

// A caller is a server as a client of the next layer. What it does with its
// attempts is what the callers of a fleet can do as well: it is their engine.
type caller struct {
	node   *node
	engine *client.Caller
	timer  timer // when the engine wants Advance

	asks     []*call      // that wait for the engine, by the Seq of their original
	free     []int        // places in asks
	original plan.Arrival // the last one; here, as the engine would have one of its own allocated
	busy     bool         // the engine's effects are being carried out: it may not be called
	heard    []heard      // answers that came meanwhile
	ended    []ended      // originals that have ended, and are not finished yet
}

type heard struct {
	attempt *client.Attempt
	answer  client.Answer
}

type ended struct {
	call   *call
	answer answer
}

// patient is how long callers wait for what has no timeout or deadline.
const patient = 24 * time.Hour

// newCaller returns n's caller, with fresh behaviours.
func newCaller(n *node) (*caller, error) {
	hop := &n.layer.Hop
	behaviours := []client.Behaviour{once{}}
	if hop.Behaviours != nil {
		own, err := hop.Behaviours(n.index)
		if err != nil {
			return nil, err
		}
		behaviours = append(behaviours, own...)
	}
	timeout := hop.Timeout
	if timeout == 0 {
		timeout = patient
	}
	k := &caller{node: n}
	engine, err := client.NewCaller(client.Options{
		Classes:    []plan.Class{{Name: n.layer.next.Name, Timeout: timeout, Deadline: patient}},
		Close:      true,
		Behaviours: behaviours,
	}, k)
	if err != nil {
		return nil, err
	}
	k.engine = engine
	k.timer.do = k.advance
	return k, nil
}

// once is a behaviour that changes nothing. With it an attempt is not waited for
// beyond the deadline.
type once struct{}

func (once) Before(now time.Duration, _ *client.Attempt) (time.Duration, string) { return now, "" }
func (once) After(time.Duration, *client.Attempt, client.Answer) time.Duration {
	return protection.Never
}

// ask has the next layer do c, and finishes c in the end.
func (k *caller) ask(c *call, deadline time.Duration) {
	place := len(k.asks)
	if n := len(k.free); n > 0 {
		place, k.free = k.free[n-1], k.free[:n-1]
		k.asks[place] = c
	} else {
		k.asks = append(k.asks, c)
	}
	now := k.node.fleet.now
	k.original = plan.Arrival{Seq: uint64(place), At: now}
	k.carryOut(k.engine.Call(now, &k.original, deadline))
	k.rest()
}

// advance is called when the engine wants it.
func (k *caller) advance() {
	k.carryOut(k.engine.Advance(k.node.fleet.now))
	k.rest()
}

// answered takes the answer to an attempt.
func (k *caller) answered(attempt *client.Attempt, a answer) {
	k.heard = append(k.heard, heard{attempt, client.Answer{
		Result: a.verdict.result(), Reason: string(a.Reason),
		Degraded: a.Degraded, RetryAfter: a.RetryAfter, NoRetry: a.NoRetry, Granted: a.Granted, Credits: a.Credits,
	}})
	k.rest()
}

// carryOut does what the engine wants. Servers may answer at once; the engine
// hears of it afterwards.
func (k *caller) carryOut(effects []client.Effect) {
	k.busy = true
	for _, e := range effects {
		switch e.Kind {
		case client.Send:
			k.send(e.Attempt)
		case client.Cancel:
			k.hangUp(e.Attempt)
		}
	}
	k.busy = false
}

// rest has the engine hear what came, finishes what has ended, and sets the timer.
func (k *caller) rest() {
	if k.busy {
		return
	}
	for len(k.heard) > 0 {
		h := k.heard[0]
		k.heard = append(k.heard[:0], k.heard[1:]...)
		k.carryOut(k.engine.Answer(k.node.fleet.now, h.attempt, h.answer))
	}
	for len(k.ended) > 0 {
		e := k.ended[len(k.ended)-1]
		k.ended = k.ended[:len(k.ended)-1]
		e.call.finish(e.answer)
	}
	k.node.fleet.timers.set(&k.timer, k.engine.Next())
}

// send sends an attempt to the next layer.
func (k *caller) send(a *client.Attempt) {
	f, hop, l := k.node.fleet, &k.node.layer.Hop, k.node.layer.next
	c := k.asks[a.Arrival.Seq]
	b := f.calls.take(f)
	b.from, b.attempt = k, a
	a.Shell = b
	b.request = protection.Request{
		Client: c.request.Client, Class: c.request.Class, Criticality: protection.Critical, Tenant: c.request.Tenant,
		Cost: c.request.Cost, Bytes: c.request.Bytes, Attempt: a.Number, Protected: c.request.Protected,
		Work: l.Work(l.rand), Deadline: protection.Never, Shell: b,
	}
	if !hop.DropDeadline {
		b.request.Deadline = min(c.request.Deadline, f.now+k.timeout())
	}
	if !hop.DropCriticality {
		b.request.Criticality = c.request.Criticality
	}
	l.offer(b)
}

// timeout returns how long an attempt may take, Never when nothing was said.
func (k *caller) timeout() time.Duration {
	if t := k.node.layer.Hop.Timeout; t > 0 {
		return t
	}
	return protection.Never - k.node.fleet.now
}

// hangUp makes nobody wait for an attempt any more.
func (k *caller) hangUp(a *client.Attempt) {
	k.node.layer.next.counts.gaveUp++
	for i, h := range k.heard {
		if h.attempt == a { // its answer is here, and comes too late
			k.heard = append(k.heard[:i], k.heard[i+1:]...)
			return
		}
	}
	a.Shell.(*call).leave()
}

// abandon gives up everything: the server has lost it.
func (k *caller) abandon() {
	k.heard = k.heard[:0]
	k.carryOut(k.engine.Abandon(k.node.fleet.now))
	k.ended = k.ended[:0]
	k.node.fleet.timers.stop(&k.timer)
}

// Attempted, Unattempted and Ended make k the engine's client.Watcher.
func (k *caller) Attempted(*client.Attempt, bool)   {}
func (k *caller) Unattempted(*client.Attempt, bool) {}

// Ended notes how an original ended.
func (k *caller) Ended(original *plan.Arrival, e *record.Ending) {
	c := k.asks[original.Seq]
	k.asks[original.Seq] = nil
	k.free = append(k.free, int(original.Seq))
	a := answer{Answer: protection.Answer{Reason: protection.Reason(e.Reason), Degraded: e.Degraded}}
	switch e.Kind {
	case record.Good, record.Late:
	case record.Failed:
		a.verdict = failed
	case record.Timeout:
		a = failure(KindTimeout)
	default: // the next layer refused, or nothing was sent to it
		a.verdict = refused
	}
	if a.verdict != served {
		a.NoRetry = k.node.layer.Hop.SayNoRetry
	}
	k.ended = append(k.ended, ended{c, a})
}

// result returns v as a client sees it.
func (v verdict) result() client.Result {
	switch v {
	case refused:
		return client.Rejected
	case failed:
		return client.Failed
	}
	return client.OK
}
