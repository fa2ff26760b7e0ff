package main

import (
	"regexp"
	"time"
)

// h2load comes with nghttp2: https://nghttp2.org/documentation/h2load.1.html. Its
// rate is one of each connection.
var h2load = tool{
	name: "h2load",
	closed: func(j job) (command, error) {
		return command{args: append(h2loadArgs(j), j.url)}, nil
	},
	open: func(j job) (command, error) {
		return command{args: append(h2loadArgs(j), "--rps="+j.perConn(), j.url)}, nil
	},
	parse: func(out []byte) (tally, error) {
		done, ok := counted(h2loadDone, out)
		good, ok2 := counted(h2loadGood, out)
		if !ok || !ok2 {
			return tally{}, errNoCount
		}
		return tally{Requests: done, Failed: done - min(good, done)}, nil
	},
}

func h2loadArgs(j job) []string {
	return []string{"--h1", "-t1", "-c", number(float64(j.conns)), "-D", number(max(j.span, time.Second).Seconds())}
}

var (
	h2loadDone = regexp.MustCompile(`requests: .* (\d+) done`)
	h2loadGood = regexp.MustCompile(`status codes: (\d+) 2xx`)
)
