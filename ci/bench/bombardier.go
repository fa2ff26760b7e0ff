package main

import "encoding/json"

// bombardier is built on fasthttp: https://github.com/codesenberg/bombardier
var bombardier = tool{
	name: "bombardier",
	closed: func(j job) (command, error) {
		return command{args: append(bombardierArgs(j), j.url)}, nil
	},
	open: func(j job) (command, error) {
		return command{args: append(bombardierArgs(j), "--rate", number(j.rate), j.url)}, nil
	},
	parse: func(out []byte) (tally, error) {
		var printed struct {
			Result *struct {
				Req1xx, Req2xx, Req3xx, Req4xx, Req5xx, Others uint64
			}
		}
		if err := json.Unmarshal(out, &printed); err != nil {
			return tally{}, err
		}
		r := printed.Result
		if r == nil {
			return tally{}, errNoCount
		}
		failed := r.Req1xx + r.Req3xx + r.Req4xx + r.Req5xx + r.Others
		return tally{Requests: r.Req2xx + failed, Failed: failed}, nil
	},
}

func bombardierArgs(j job) []string {
	return []string{"-c", number(float64(j.conns)), "-d", j.span.String(), "-o", "json", "-p", "r"}
}
