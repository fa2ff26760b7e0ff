package order

import "time"

// sfq is start-time fair queueing (Goyal, Vin and Cheng, SIGCOMM 1996). A request
// starts, in virtual time, when its flow is through with the one before, or at
// the virtual time of its arrival when that is later; it finishes its cost,
// divided by the flow's weight, after that. The earliest start is served first,
// of equal ones the earliest arrival, and virtual time is the start of what is
// served.
//
// A request behind another of its flow starts when that finishes, so that tags
// are kept for the first one only. One that leaves unserved is not charged for.
//
// When a request finds the server idle, virtual time begins anew, and every flow
// is forgiven what it had before.
type sfq struct {
	flows   *flows
	now     float64 // virtual time
	ready   ranking // flows of which something waits, by the start of their first request
	resting ranking // empty flows, by their finish; next takes out what finished by now
	serial  uint64
	joined  time.Duration // when a flow last began to wait
}

// mostResting bounds the empty flows that are remembered, because tenants that
// come once each make virtual time stand still. The one that has least to be
// remembered for goes first, and starts level with the others when it comes back.
const mostResting = 1024

func newSFQ(f *flows) *sfq {
	return &sfq{
		flows:   f,
		ready:   ranking{place: placeOfScheduler, before: startsBefore},
		resting: ranking{place: placeOfScheduler, before: func(a, b *flow) bool { return a.finish < b.finish }},
	}
}

func startsBefore(a, b *flow) bool {
	switch {
	case a.start != b.start:
		return a.start < b.start
	case a.first.Arrived != b.first.Arrived:
		return a.first.Arrived < b.first.Arrived
	}
	return a.serial < b.serial
}

func (s *sfq) join(now time.Duration, f *flow) {
	s.joined = now
	s.serial++
	s.resting.remove(f)
	f.start, f.serial = max(s.now, f.finish), s.serial
	s.ready.put(f)
}

func (s *sfq) next(now time.Duration, alone bool) *flow {
	f := s.ready.flows[0]
	if alone && s.joined == now {
		s.now, f.start = 0, 0
		for len(s.resting.flows) > 0 {
			s.forget(s.resting.flows[0])
		}
		return f
	}
	s.now = f.start
	for len(s.resting.flows) > 0 && s.resting.flows[0].finish <= s.now {
		s.forget(s.resting.flows[0])
	}
	return f
}

func (s *sfq) charge(f *flow, cost float64) {
	f.finish = f.start + cost/f.weight
	f.start = f.finish
	s.follow(f)
}

func (s *sfq) lose(f *flow, first bool) {
	if first {
		s.follow(f)
	}
}

// follow puts f, whose first request has left, where it belongs.
func (s *sfq) follow(f *flow) {
	if f.n > 0 {
		s.ready.put(f)
		return
	}
	s.ready.remove(f)
	s.resting.put(f)
	if len(s.resting.flows) <= mostResting {
		return
	}
	if least := s.resting.flows[0]; least != f {
		s.forget(least)
	} else {
		s.resting.remove(f)
	}
}

func (s *sfq) rests(f *flow) bool { return f.place[placeOfScheduler] > 0 }

// forget takes out a flow that rests.
func (s *sfq) forget(f *flow) {
	s.resting.remove(f)
	s.flows.forget(f)
}
