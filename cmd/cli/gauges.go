package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"
	"time"

	"knee/analysis"
	"knee/generator/record"
)

// gaugeEvent is the kind of the events that keep what the server said of itself.
const gaugeEvent = "server"

// gauges are what a server that is ours said of itself, while somebody listened.
// They may be used by several goroutines at once.
type gauges struct {
	mu     sync.Mutex
	listen bool
	all    []record.Gauge
}

// add keeps g, and says whether anybody listens.
func (g *gauges) add(v record.Gauge) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.listen {
		g.all = append(g.all, v)
	}
	return g.listen
}

func (g *gauges) listening(on bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.listen = on
}

// so returns what was kept so far.
func (g *gauges) so() []record.Gauge {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clip(g.all)
}

// last returns the last of them, if the server told anything since an instant.
func (g *gauges) last(since time.Duration) (record.Gauge, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.all) == 0 || g.all[len(g.all)-1].At < since {
		return record.Gauge{}, false
	}
	return g.all[len(g.all)-1], true
}

// gauge keeps what the server says of itself.
func (s *session) gauge(v record.Gauge) {
	if !s.gauges.add(v) {
		return
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("cli: encoding a gauge: %v", err))
	}
	s.event(record.Event{At: v.At, Kind: gaugeEvent, Text: string(text)})
}

// listen has the server tell of itself once in a record.Window until stop is called.
// One that is not ours tells nothing.
func (s *session) listen(ctx context.Context) (stop func()) {
	s.gauges.listening(true)
	if s.child == nil {
		return func() { s.gauges.listening(false) }
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(record.Window)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			// One that does not answer is noticed by those who need it: see child.
			if n, err := s.child.look(ctx); err == nil {
				s.gauge(record.Gauge{
					At: s.driver.Now(), Waiting: n.Waiting, Running: n.Running, Workers: n.Workers,
					Oldest: time.Duration(n.OldestMs * float64(time.Millisecond)), Limit: n.Limit,
				})
			}
		}
	}()
	return func() {
		cancel()
		<-done
		s.gauges.listening(false)
	}
}

// known is what is known of the run beside its records.
func (s *session) known() analysis.Meta {
	m := s.meta
	m.Gauges = s.gauges.so()
	return m
}

// keptGauges returns what the server of a run that was killed said of itself.
func keptGauges(events []record.Event) ([]record.Gauge, error) {
	var all []record.Gauge
	for _, e := range events {
		if e.Kind != gaugeEvent {
			continue
		}
		var g record.Gauge
		if err := json.Unmarshal([]byte(e.Text), &g); err != nil {
			return nil, fmt.Errorf("events.jsonl: what the server said of itself at %v: %w", e.At, err)
		}
		all = append(all, g)
	}
	return all, nil
}
