package main

import "encoding/json"

// oha is https://github.com/hatoo/oha, from 1.9 on, which knows --output-format.
var oha = tool{
	name: "oha",
	closed: func(j job) (command, error) {
		return command{args: append(ohaArgs(j), j.url)}, nil
	},
	open: func(j job) (command, error) {
		return command{args: append(ohaArgs(j), "-q", number(j.rate), j.url)}, nil
	},
	parse: func(out []byte) (tally, error) {
		var printed struct {
			Statuses map[string]uint64 `json:"statusCodeDistribution"`
			Errors   map[string]uint64 `json:"errorDistribution"`
		}
		if err := json.Unmarshal(out, &printed); err != nil {
			return tally{}, err
		}
		t, err := statuses(printed.Statuses)
		for why, n := range printed.Errors {
			if why != ohaDeadline {
				t.Failed += n
			}
		}
		return t, err
	},
}

// ohaDeadline is what oha calls requests that were open when its time was over.
const ohaDeadline = "aborted due to deadline"

func ohaArgs(j job) []string {
	return []string{"--no-tui", "--output-format", "json", "-c", number(float64(j.conns)), "-z", j.span.String()}
}
