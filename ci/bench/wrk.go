package main

import "regexp"

// wrk has closed loops only: https://github.com/wg/wrk
var wrk = tool{
	name: "wrk",
	closed: func(j job) (command, error) {
		return command{args: []string{"-t1", "-c", number(float64(j.conns)), "-d", j.seconds() + "s", j.url}}, nil
	},
	parse: parseWrk,
}

var (
	wrkRequests = regexp.MustCompile(`(\d+) requests in `)
	wrkStatus   = regexp.MustCompile(`Non-2xx or 3xx responses: (\d+)`)
	wrkErrors   = regexp.MustCompile(`Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)`)
)

// parseWrk reads the summary of wrk, which is wrk2's too.
func parseWrk(out []byte) (tally, error) {
	n, ok := counted(wrkRequests, out)
	if !ok {
		return tally{}, errNoCount
	}
	t := tally{Requests: n}
	t.Failed, _ = counted(wrkStatus, out)
	if m := wrkErrors.FindSubmatch(out); m != nil {
		for _, digits := range m[1:] {
			n, _ := counted(digitsOnly, digits)
			t.Failed += n
		}
	}
	return t, nil
}

var digitsOnly = regexp.MustCompile(`^(\d+)$`)
