package main

import (
	"context"
	"fmt"
)

// measureClosed returns the measurement of a tool in a closed loop against a
// server that runs.
func (k *kit) measureClosed(name string, s *server, t tool) measurement {
	return measurement{
		row: k.sheet.row(closedTable, name, t.name, 0),
		do: func(ctx context.Context) (map[string]float64, error) {
			j, err := k.newJob(s, 0)
			if err != nil {
				return nil, err
			}
			c, err := t.closed(j)
			if err != nil {
				return nil, err
			}
			o, err := k.observe(ctx, t, c, j, s)
			if err != nil {
				return nil, err
			}
			if o.Requests == 0 || o.CPU == 0 {
				return nil, fmt.Errorf("%s: %d requests in %v of CPU time", t.name, o.Requests, o.CPU)
			}
			v := o.values()
			v[perCPUSecond] = float64(o.Requests) / o.CPU.Seconds()
			v[perSecond] = float64(o.Requests) / j.span.Seconds()
			return v, nil
		},
	}
}

// measureAllClosed measures the tools that have a closed loop against nginx,
// where it is there, and against the server that does nothing.
func (k *kit) measureAllClosed(ctx context.Context, tools []tool) error {
	var all []measurement
	add := func(name string, s *server) {
		for _, t := range tools {
			if t.closed != nil {
				all = append(all, k.measureClosed(name, s, t))
			}
		}
	}
	if k.nginx != "" {
		s, err := startNginx(ctx, k.nginx, k.dir, k.servers)
		if err != nil {
			return err
		}
		defer s.stop()
		add(nginxServer, s)
	}
	s, err := startNull(k.knee, k.servers)
	if err != nil {
		return err
	}
	defer s.stop()
	add(nullServer, s)
	return k.interleave(ctx, closedTable, k.rounds, all)
}

// Servers, as tables call them.
const (
	nginxServer     = "nginx"
	nullServer      = "null"
	recordingServer = "recording"
	slowServerName  = "slow"
)
