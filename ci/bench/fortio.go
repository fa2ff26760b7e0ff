package main

import "encoding/json"

// fortio is https://github.com/fortio/fortio, with its own HTTP client. Its
// connections take turns when the load is uniform.
var fortio = tool{
	name: "fortio",
	closed: func(j job) (command, error) {
		return command{args: append(fortioArgs(j), "-qps", "0", j.url)}, nil
	},
	open: func(j job) (command, error) {
		return command{args: append(fortioArgs(j), "-qps", number(j.rate), "-uniform", j.url)}, nil
	},
	parse: func(out []byte) (tally, error) {
		var printed struct {
			RetCodes map[string]uint64
		}
		if err := json.Unmarshal(out, &printed); err != nil {
			return tally{}, err
		}
		return statuses(printed.RetCodes)
	},
}

func fortioArgs(j job) []string {
	return []string{"load", "-quiet", "-json", "-", "-c", number(float64(j.conns)), "-t", j.span.String()}
}

// statuses adds up a map from statuses to counts; those that begin with 2 are
// successes.
func statuses(codes map[string]uint64) (tally, error) {
	if len(codes) == 0 {
		return tally{}, errNoCount
	}
	var t tally
	for code, n := range codes {
		t.Requests += n
		if code == "" || code[0] != '2' {
			t.Failed += n
		}
	}
	return t, nil
}
