package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
)

// k6 is https://github.com/grafana/k6. What it does is a script.
var k6 = tool{
	name: "k6",
	closed: func(j job) (command, error) {
		return k6Command(j, map[string]any{"executor": "constant-vus", "vus": j.conns})
	},
	open: func(j job) (command, error) {
		return k6Command(j, map[string]any{
			"executor": "constant-arrival-rate", "rate": math.Round(j.rate), "timeUnit": "1s",
			"preAllocatedVUs": j.conns, "maxVUs": j.conns,
		})
	},
	parse: func(out []byte) (tally, error) {
		type metric struct {
			Values struct {
				Count  uint64
				Passes uint64
			}
		}
		var printed struct {
			Metrics map[string]metric
		}
		if err := json.Unmarshal(out, &printed); err != nil {
			return tally{}, err
		}
		requests, ok := printed.Metrics["http_reqs"]
		if !ok {
			return tally{}, errNoCount
		}
		return tally{Requests: requests.Values.Count, Failed: printed.Metrics["http_req_failed"].Values.Passes}, nil
	},
}

// k6Script wants its scenario and the URL, both as JSON.
const k6Script = `import http from 'k6/http';
export const options = {discardResponseBodies: true, scenarios: {bench: %s}};
export default function () { http.get(%s); }
export function handleSummary(data) { return {stdout: JSON.stringify(data)}; }
`

func k6Command(j job, scenario map[string]any) (command, error) {
	scenario["duration"], scenario["gracefulStop"] = j.span.String(), "1s"
	options, err := json.Marshal(scenario)
	if err != nil {
		return command{}, err
	}
	url, err := json.Marshal(j.url)
	if err != nil {
		return command{}, err
	}
	script := filepath.Join(j.dir, "k6.js")
	return command{
		args: []string{"run", "--quiet", script},
		env:  []string{"K6_NO_USAGE_REPORT=true"},
	}, os.WriteFile(script, fmt.Appendf(nil, k6Script, options, url), 0o600)
}
