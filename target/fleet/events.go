package fleet

import "time"

// An Event is something that happened to a server.
type Event struct {
	At     time.Duration
	What   What
	Layer  string
	Server int // number within the layer
}

// What happened to a server.
type What string

const (
	Crashed    What = "crashed"    // more waited than it could stand
	Restarted  What = "restarted"  // it came back from a crash
	Unhealthy  What = "unhealthy"  // its health checks failed, and it is out of service
	Healthy    What = "healthy"    // its health checks passed, and it is back
	Ejected    What = "ejected"    // its requests failed, and it is out of service
	Readmitted What = "readmitted" // its ejection is over
	Started    What = "started"    // the autoscaler put it into service
	Stopped    What = "stopped"    // the autoscaler took it out of service
)

func (f *Fleet) notice(n *node, what What) {
	if f.spec.Notice != nil {
		f.spec.Notice(Event{At: f.now, What: what, Layer: n.layer.Name, Server: n.index})
	}
}
