package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"knee/analysis"
	"knee/generator/live"
	"knee/generator/plan"
)

// kneeProfile is the load of an open loop against a server that is not ours: how
// requests arrive, their rate, and for how long.
const kneeProfile = `name: bench
client: {timeout: 1s, grace: 1s, clients: 1}
load: {arrivals: %s, phases: [{kind: hold, rate: %s, for: %v}]}
`

// A variant is knee with flags of its own.
type variant struct {
	label    string
	arrivals string // default constant
	flags    []string
}

// tool returns knee, built at path, in an open loop: the way in which people use it.
func (v variant) tool(path string) tool {
	if v.arrivals == "" {
		v.arrivals = plan.Constant.String()
	}
	return tool{
		name: v.label,
		path: path,
		open: func(j job) (command, error) {
			profile := filepath.Join(j.dir, "knee.yaml")
			args := append([]string{"run", profile, "--url", j.url, "--format", "json", "--quiet"}, v.flags...)
			return command{args: args}, os.WriteFile(profile, fmt.Appendf(nil, kneeProfile, v.arrivals, number(j.rate), j.span), 0o600)
		},
		parse: func(out []byte) (tally, error) {
			var r analysis.Result
			if err := json.Unmarshal(out, &r); err != nil {
				return tally{}, err
			}
			if len(r.Steps) == 0 {
				return tally{}, errNoCount
			}
			var t tally
			for _, s := range r.Steps {
				t.Requests += s.Counts.Planned
				t.Failed += s.Counts.Planned - s.Counts.Good
			}
			return t, nil
		},
	}
}

// closedTool returns knee, built at path, in a closed loop, by a verb that is
// there for this alone.
func closedTool(label, path string, e live.Engine) tool {
	return tool{
		name: label,
		path: path,
		closed: func(j job) (command, error) {
			return command{args: []string{
				"closed-loop", "--url", j.url, "--conns", number(float64(j.conns)), "--for", j.span.String(), "--engine", string(e),
			}}, nil
		},
		parse: parseTally,
	}
}

// parseTally reads what knee's closed loop prints, and the bare one.
func parseTally(out []byte) (t tally, err error) {
	err = json.Unmarshal(out, &t)
	return t, err
}
