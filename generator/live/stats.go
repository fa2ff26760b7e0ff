package live

import "time"

// Traffic is what went over the connections of a transport.
type Traffic struct {
	Opened      uint64 // connections opened, those of Warm included
	OpenFailed  uint64 // connections that could not be opened
	Open        int    // connections open now
	Reused      uint64 // requests sent over a connection that had carried one before
	BodyBytes   uint64 // of answers, as received
	OddRetry    uint64 // answers whose Retry-After could not be read
	Surplus     uint64 // connections given up because bytes came that belong to no answer
	Streams     StreamTraffic
	ConnectP50  time.Duration
	ConnectP99  time.Duration // of opening a connection, with name look-up and TLS; 0 when none was opened
	ConnectMost time.Duration
}

// Stats is what a driver knows of itself.
type Stats struct {
	Traffic
	CPU  time.Duration // that this process used during Runs; 0 where it is not known
	Wall time.Duration // length of the Runs
}

// Stats returns what the driver has done since New.
func (d *Driver) Stats() Stats {
	s := Stats{Traffic: d.transport.traffic()}
	s.CPU, s.Wall = d.usage.total(d.Now())
	return s
}
