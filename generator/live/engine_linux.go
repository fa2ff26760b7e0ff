package live

import "time"

func platformEngines() []engine {
	return []engine{{
		name:    Epoll,
		doc:     "HTTP/1.1 over plain TCP by one event loop",
		refuses: refusesEpoll,
		new:     func(o Options, now func() time.Duration) (transport, error) { return newEpoll(o, now) },
	}}
}
