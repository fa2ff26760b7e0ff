// Package analysis turns the records of a run into a Result with warnings.
package analysis

import (
	"math"

	"knee/generator/record"
)

// Schema is the version of Result's JSON form.
const Schema = "knee.result/v1"

// Result is everything that knee says about a run: the content of run.json and
// of `--format json`. Rates are per second, retention and loads marked x are
// ratios. A nil pointer is an answer that is absent, never 0.
type Result struct {
	Schema         string         `json:"schema"`
	Run            Run            `json:"run"`
	Machine        Machine        `json:"machine"`
	Profile        any            `json:"profile"`
	Capacity       Capacity       `json:"capacity"`
	Steps          []Step         `json:"steps"`
	Knee           Knee           `json:"knee"`
	Plateau        Plateau        `json:"plateau"`
	Recovery       Recovery       `json:"recovery"`
	Metastability  Metastability  `json:"metastability"`
	Rejection      Rejection      `json:"rejection"`
	Generator      Generator      `json:"generator"`
	Reconciliation Reconciliation `json:"reconciliation"`
	Topology       *Topology      `json:"topology,omitempty"` // of a run on several servers
	Aborted        *Aborted       `json:"aborted,omitempty"`  // by a guard
	Closed         *Closed        `json:"closed,omitempty"`   // of a run in a closed loop
	Gate           *Gate          `json:"gate,omitempty"`     // of a run that compares two builds
	Baseline       *Beside        `json:"baseline,omitempty"` // a finished run beside this one: advisory
	Checks         []Check        `json:"checks"`
	Verdict        string         `json:"verdict"` // pass, fail or inconclusive
	Warnings       []string       `json:"warnings"`
}

// Aborted says why a run was stopped before its end.
type Aborted struct {
	By    string  `json:"by"`    // the guard
	AtS   float64 `json:"at_s"`  // on the run's clock, the end of the window that met it
	Found string  `json:"found"` // what it was
}

// Run identifies a run and says how to repeat it.
type Run struct {
	ID            string  `json:"id"`
	Command       string  `json:"command"`
	StartedAt     *string `json:"started_at"` // RFC 3339; nil in virtual time
	DurationS     float64 `json:"duration_s"`
	Clock         string  `json:"clock"` // wall or virtual
	Seed          uint64  `json:"seed"`
	Version       string  `json:"version"`
	ProfileSHA256 string  `json:"profile_sha256"`
	Repeat        string  `json:"repeat"` // the command that repeats the run
}

// Machine is where the generator ran.
type Machine struct {
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	CPUs     int    `json:"cpus"`
	CPUModel string `json:"cpu_model"`
	Go       string `json:"go"`

	CPUsAllowed int        `json:"cpus_allowed"` // on which knee may run
	CPUQuota    *float64   `json:"cpu_quota"`    // how many CPUs' time its control groups let it use; nil: no limit
	Descriptors *int       `json:"descriptors"`  // that a process may have open; nil: no limit
	Ports       *int       `json:"ports"`        // local ones, towards one address; nil: unknown
	Placement   *Placement `json:"placement"`    // nil: the operating system places
}

// Placement says to which CPUs the processes of a run were bound.
type Placement struct {
	Generator string `json:"generator"` // such as 2-3
	Server    string `json:"server"`
}

// Capacity is the load that x is a multiple of.
type Capacity struct {
	RPS    *float64 `json:"rps"`
	Source string   `json:"source"` // declared or measured
}

// Step is one stretch of the load with what became of it.
type Step struct {
	IntendedRPS      float64           `json:"intended_rps"`
	LoadX            *float64          `json:"load_x"` // intended, as a multiple of capacity
	OfferedRPS       float64           `json:"offered_rps"`
	DurationS        float64           `json:"duration_s"`
	Phase            string            `json:"phase"`
	Name             string            `json:"name,omitempty"` // what the profile calls the phase
	Counts           Counts            `json:"counts"`
	RejectedByReason map[string]uint64 `json:"rejected_by_reason"`
	FailedByKind     map[string]uint64 `json:"failed_by_kind"`
	UnsentByReason   map[string]uint64 `json:"unsent_by_reason"`
	WithheldByReason map[string]uint64 `json:"withheld_by_reason"`
	ByClass          map[string]Class  `json:"by_class"`
	GoodputRPS       float64           `json:"goodput_rps"`
	ThroughputRPS    float64           `json:"throughput_rps"`  // good and late
	ResponseMS       Latency           `json:"response_ms"`     // of good, from planned
	ServiceMS        Latency           `json:"service_ms"`      // of good, from sent
	RejectMS         Latency           `json:"reject_ms"`       // of rejected, from sent
	LateMS           Latency           `json:"late_ms"`         // of late, from planned
	LagMS            Latency           `json:"lag_ms"`          // of sent: sent minus planned
	GoodDuring       uint64            `json:"good_during"`     // good answers that came during the step, whenever they were due; of a step that is not whole windows of 200 ms: good
	InFlightStart    int               `json:"in_flight_start"` // requests open as the step began …
	InFlightEnd      int               `json:"in_flight_end"`   // … and as it ended
	Growing          bool              `json:"growing"`         // the backlog rose throughout: not a steady load
	Generator        *Use              `json:"generator"`       // nil in virtual time, and when nobody looked
	SetAside         bool              `json:"set_aside"`       // another trial of the load took its place
	Valid            bool              `json:"valid"`
	Why              string            `json:"why"` // why it supports no claim, when it is not valid
}

// Use is what the generator took of its machine during a step. Shares are of one
// CPU; nil where the platform does not tell. What is not a share or a sum is the
// highest that was seen.
type Use struct {
	CPUShare    *float64 `json:"cpu_share"`    // of all threads: can be above 1
	ThreadShare *float64 `json:"thread_share"` // of the thread that ran or wanted to run most
	WaitedShare *float64 `json:"waited_share"` // of the time in which that one was ready to run and had no CPU
	StolenShare *float64 `json:"stolen_share"` // of one CPU, that the hypervisor had do other things, on all CPUs together
	GCCycles    int      `json:"gc_cycles"`
	GCPauseMS   float64  `json:"gc_pause_ms"`
	Goroutines  int      `json:"goroutines"`
	MemoryBytes int64    `json:"memory_bytes"`
	Connections int      `json:"connections"`
	Descriptors int      `json:"descriptors"`
}

// Counts are numbers of originals, with attempts beside them.
type Counts = record.Counts

// Class is one class's part of a step.
type Class struct {
	Counts     Counts  `json:"counts"`
	GoodputRPS float64 `json:"goodput_rps"`
	ResponseMS Latency `json:"response_ms"`
}

// Latency summarises a histogram in milliseconds. Quantiles are nil when Count
// is 0; one that the samples cannot support is nil too.
type Latency struct {
	P50   *float64 `json:"p50"`
	P90   *float64 `json:"p90"`
	P99   *float64 `json:"p99"`
	P999  *float64 `json:"p999"`
	Max   *float64 `json:"max"`
	Count int64    `json:"count"`
}

// Knee is the load up to which nearly every request is answered in time.
type Knee struct {
	Verdict       string          `json:"verdict"` // found no_knee below_range no_goodput generator_limited inversion insufficient inconclusive
	RPS           *float64        `json:"rps"`
	LowRPS        *float64        `json:"low_rps"`
	HighRPS       *float64        `json:"high_rps"`
	X             *float64        `json:"x"` // of capacity
	Certified     bool            `json:"certified"`
	SaturationRPS *float64        `json:"saturation_rps"`
	Flags         []string        `json:"flags"`
	ByClass       map[string]Knee `json:"by_class,omitempty"`
	Why           string          `json:"why"`
}

// Plateau says whether goodput holds past the knee.
type Plateau struct {
	Verdict      string      `json:"verdict"` // plateau decline collapse range_short inversion no_knee below_range generator_limited no_goodput insufficient inconclusive
	MinRetention *float64    `json:"min_retention"`
	Retention    []Retention `json:"retention"`
	TestedToX    *float64    `json:"tested_to_x"`
	CollapseRPS  *float64    `json:"collapse_rps"`
	Why          string      `json:"why"`
}

// Retention is the share of the reference goodput that is left at a load.
type Retention struct {
	X         float64 `json:"x"` // of the knee
	Retention float64 `json:"retention"`
}

// Recovery says how long after a spike or a fault goodput was back.
type Recovery struct {
	Verdict     string   `json:"verdict"` // recovered slow not_recovered inconclusive not_tested
	ProjectionS *float64 `json:"projection_s"`
	MedianS     *float64 `json:"median_s"`
	LowS        *float64 `json:"low_s"`
	HighS       *float64 `json:"high_s"`
	Spikes      int      `json:"spikes"`
	Faults      int      `json:"faults,omitempty"` // windows of faults that were recovered from, or not, beside the spikes
	LostGood    *float64 `json:"lost_good"`        // requests that would have been good
	FromStartS  *float64 `json:"from_start_s"`     // the median on the other clock, which begins with the spike or fault and not with its end
	Confidence  *float64 `json:"confidence"`       // that the median lies between low_s and high_s; nil after a single spike
	BaseRPS     *float64 `json:"base_rps"`         // load before and after the first spike
	Why         string   `json:"why"`
}

// Metastability says whether a bad state outlives its trigger.
type Metastability struct {
	Verdict            string   `json:"verdict"` // recovered slow metastable damaged inconclusive not_tested
	ProjectionS        *float64 `json:"projection_s"`
	Stuck              *int     `json:"stuck"`                // triggers that were not recovered from
	Triggers           *int     `json:"triggers"`             // that say something
	ShareLow           *float64 `json:"share_low"`            // 95% interval of the share of triggers …
	ShareHigh          *float64 `json:"share_high"`           // … that are not recovered from
	StableThresholdRPS *float64 `json:"stable_threshold_rps"` // highest base load from which all triggers were recovered from
	UnstableRPS        *float64 `json:"unstable_rps"`         // lowest base load from which one was not
	BaseRPS            *float64 `json:"base_rps"`             // load before and after the first trigger
	TriggerRPS         *float64 `json:"trigger_rps"`          // load of the first trigger; nil for a fault
	TriggerS           *float64 `json:"trigger_s"`            // how long it lasted
	Loop               *Loop    `json:"loop,omitempty"`       // of a load that rose and fell again
	Why                string   `json:"why"`
}

// Rejection says what one "no" costs beside one "yes".
type Rejection struct {
	Verdict      string             `json:"verdict"` // measured inconclusive not_tested
	Why          string             `json:"why"`
	Q            *float64           `json:"q"`
	QLow         *float64           `json:"q_low"`
	QHigh        *float64           `json:"q_high"`
	CollapseRPS  *float64           `json:"collapse_rps"`
	SuccessCPUUS *float64           `json:"success_cpu_us"`
	RejectCPUUS  *float64           `json:"reject_cpu_us"`
	LostPer1000  *float64           `json:"lost_per_1000,omitempty"` // goodput that 1,000 rejections per second cost, per second
	Retention10X *float64           `json:"retention_10x,omitempty"` // share of the goodput that is left at ten times the capacity
	Checked      *Collapse          `json:"checked,omitempty"`       // what was left at the load of collapse_rps; nil when it was not offered
	Hot          []Hot              `json:"hot,omitempty"`           // functions that rejections spend CPU in
	CurveQ       *float64           `json:"curve_q,omitempty"`       // of a run that prices rejections: q as the goodput curve has it
	CurveQLow    *float64           `json:"curve_q_low,omitempty"`
	CurveQHigh   *float64           `json:"curve_q_high,omitempty"`
	CurveWhy     string             `json:"curve_why,omitempty"` // why the curve does not tell
	Stages       []RejectionStage   `json:"stages"`
	ByReason     map[string]float64 `json:"by_reason"`
}

// Collapse is what was left at the load at which rejections alone would fill the
// server.
type Collapse struct {
	OfferedRPS float64 `json:"offered_rps"`
	GoodputRPS float64 `json:"goodput_rps"`
	Valid      bool    `json:"valid"`
	Why        string  `json:"why"` // why it supports no claim, when it is not valid
}

// RejectionStage is the cost of a rejection at one shed stage.
type RejectionStage struct {
	Stage        string             `json:"stage"`
	Verdict      string             `json:"verdict"`
	Why          string             `json:"why"`
	Q            *float64           `json:"q"`
	QLow         *float64           `json:"q_low"`
	QHigh        *float64           `json:"q_high"`
	CollapseRPS  *float64           `json:"collapse_rps"`
	SuccessCPUUS *float64           `json:"success_cpu_us"`
	RejectCPUUS  *float64           `json:"reject_cpu_us"`
	LostPer1000  *float64           `json:"lost_per_1000"`
	Retention10X *float64           `json:"retention_10x"`
	Checked      *Collapse          `json:"checked"`
	ByReason     map[string]float64 `json:"by_reason,omitempty"`
	Hot          []Hot              `json:"hot,omitempty"`
}

// Generator says whether the load was really offered.
type Generator struct {
	Verdict    string   `json:"verdict"`     // ok suspect limited
	CeilingRPS *float64 `json:"ceiling_rps"` // the highest load that was offered, when a higher one could not be
	LagP99MS   *float64 `json:"lag_p99_ms"`
	CPUShare   *float64 `json:"cpu_share"` // of one CPU
	Why        string   `json:"why"`
	Evidence   []string `json:"evidence"` // for the verdict, the weightiest first; empty when it is ok
}

// Reconciliation compares the client's counts with the server's own.
type Reconciliation struct {
	Matched     *bool    `json:"matched"` // nil when the server is not ours
	Differences []string `json:"differences"`
}

// Check is one judged check of the profile.
type Check struct {
	Name    string `json:"name"`
	Want    string `json:"want"`
	Got     string `json:"got"`
	Verdict string `json:"verdict"` // pass fail inconclusive
	Why     string `json:"why"`
}

// finite returns v, nil when it is infinite or no number.
func finite(v float64) *float64 {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return nil
	}
	return &v
}
