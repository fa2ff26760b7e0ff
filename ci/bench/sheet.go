package main

import (
	"encoding/json"
	"maps"
	"slices"
)

// Tables.
const (
	closedTable = "closed loop"
	openTable   = "open loop"
	goalsTable  = "goals"
)

// What is measured. A second of CPU time is the generator's, user and system.
const (
	perCPUSecond = "requests_per_cpu_second"
	cpuPer       = "cpu_us_per_request"
	perSecond    = "requests_per_second"
	peakMB       = "peak_rss_mb"
	failedShare  = "failed_share"
	rateOfAsked  = "rate_of_asked"
	achievedPart = "achieved_of_asked"
	errorP50     = "error_p50_us"
	errorP99     = "error_p99_us"
	errorP999    = "error_p999_us"
	spreadOfAll  = "spread_us"
	gapCV        = "gap_cv"
	othersCPU    = "others_cpu_share" // of one CPU: what ran beside the tool, the server and the kit
	stolenCPU    = "stolen_cpu_share" // of one CPU
)

// A row is one tool in one situation. Its values are by what is measured, and
// then by round.
type row struct {
	Table    string
	Server   string
	Tool     string
	Rate     float64 // that was asked for; 0 in a closed loop
	values   map[string]map[int]float64
	failures map[int]string // why a round has no values
}

// A sheet is everything that was measured.
type sheet struct{ rows []*row }

// row returns the row of one situation, a new one the first time.
func (s *sheet) row(table, server, tool string, rate float64) *row {
	if r := s.find(table, server, tool, rate); r != nil {
		return r
	}
	r := &row{Table: table, Server: server, Tool: tool, Rate: rate, values: map[string]map[int]float64{}, failures: map[int]string{}}
	s.rows = append(s.rows, r)
	return r
}

// find returns the row of one situation, nil when there is none.
func (s *sheet) find(table, server, tool string, rate float64) *row {
	for _, r := range s.rows {
		if r.Table == table && r.Server == server && r.Tool == tool && r.Rate == rate {
			return r
		}
	}
	return nil
}

// add takes the values of a round, or why there are none.
func (r *row) add(round int, values map[string]float64, err error) {
	if err != nil {
		r.failures[round] = err.Error()
		return
	}
	for what, v := range values {
		if r.values[what] == nil {
			r.values[what] = map[int]float64{}
		}
		r.values[what][round] = v
	}
}

// by returns the values by round; none for no row.
func (r *row) by(what string) map[int]float64 {
	if r == nil {
		return nil
	}
	return r.values[what]
}

// of returns the spread of what was measured over the rounds.
func (r *row) of(what string) spread {
	return spreadOf(slices.Collect(maps.Values(r.by(what))))
}

// failure returns why the first round that failed did, "" when none did.
func (r *row) failure() string {
	for _, round := range slices.Sorted(maps.Keys(r.failures)) {
		return r.failures[round]
	}
	return ""
}

// MarshalJSON writes the spread of each value.
func (r *row) MarshalJSON() ([]byte, error) {
	values := map[string]spread{}
	for what := range r.values {
		values[what] = r.of(what)
	}
	return json.Marshal(struct {
		Table    string            `json:"table"`
		Server   string            `json:"server,omitempty"`
		Tool     string            `json:"tool"`
		Rate     float64           `json:"rate,omitempty"`
		Measured map[string]spread `json:"measured"`
		Failed   int               `json:"failed_rounds"`
		Why      string            `json:"why,omitempty"`
	}{r.Table, r.Server, r.Tool, r.Rate, values, len(r.failures), r.failure()})
}
