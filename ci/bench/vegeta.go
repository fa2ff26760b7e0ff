package main

import (
	"encoding/json"
	"path/filepath"
)

// vegeta is https://github.com/tsenart/vegeta. Its workers are bounded by the
// connections here; without that bound it opens thousands when it falls behind.
var vegeta = tool{
	name:   "vegeta",
	closed: func(j job) (command, error) { return vegetaCommand(j), nil },
	open:   func(j job) (command, error) { return vegetaCommand(j), nil },
	parse: func(out []byte) (tally, error) {
		var printed struct {
			Codes map[string]uint64 `json:"status_codes"`
		}
		if err := json.Unmarshal(out, &printed); err != nil {
			return tally{}, err
		}
		return statuses(printed.Codes)
	},
}

func vegetaCommand(j job) command {
	results, conns := filepath.Join(j.dir, "vegeta.bin"), number(float64(j.conns))
	return command{
		args: []string{
			"attack", "-rate", number(j.rate), "-duration", j.span.String(), "-output", results,
			"-workers", conns, "-max-workers", conns, "-connections", conns,
		},
		stdin:  "GET " + j.url + "\n",
		report: []string{"report", "-type", "json", results},
	}
}
