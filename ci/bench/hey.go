package main

import (
	"bytes"
	"regexp"
)

// hey is https://github.com/rakyll/hey. Its rate is one of each connection.
var hey = tool{
	name: "hey",
	closed: func(j job) (command, error) {
		return command{args: []string{"-c", number(float64(j.conns)), "-z", j.span.String(), j.url}}, nil
	},
	open: func(j job) (command, error) {
		return command{args: []string{"-c", number(float64(j.conns)), "-z", j.span.String(), "-q", j.perConn(), j.url}}, nil
	},
	parse: func(out []byte) (tally, error) {
		good, bad, _ := bytes.Cut(out, []byte("Error distribution:"))
		codes := map[string]uint64{}
		for _, m := range heyStatus.FindAllSubmatch(good, -1) {
			codes[string(m[1])], _ = counted(digitsOnly, m[2])
		}
		t, err := statuses(codes)
		for _, m := range heyErrors.FindAllSubmatch(bad, -1) {
			n, _ := counted(digitsOnly, m[1])
			t.Failed += n
		}
		return t, err
	},
}

var (
	heyStatus = regexp.MustCompile(`(?m)^\s*\[(\d{3})\]\s+(\d+) responses`)
	heyErrors = regexp.MustCompile(`(?m)^\s*\[(\d+)\]\s`)
)
