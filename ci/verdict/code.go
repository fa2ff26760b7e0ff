// Package verdict decides whether a run met its checks, and with which code
// the process ends.
package verdict

import "knee/analysis"

// Exit codes of the process.
const (
	CodeOK           = 0   // ran; every check met
	CodeFailed       = 1   // ran; a check was not met, or there was no goodput at all
	CodeUsage        = 2   // usage or profile wrong; nothing was sent
	CodeNotStarted   = 3   // target unreachable, not steady, or its host not allowed
	CodeAborted      = 4   // by a guard, or by a person from the UI
	CodeInconclusive = 5   // generator limited, too noisy, or too few samples
	CodeNotReverted  = 6   // a fault could not be reverted
	CodeInternal     = 70  // a bug in knee
	CodeInterrupted  = 130 // SIGINT, after reverting and reporting
	CodeTerminated   = 143 // SIGTERM, after reverting and reporting
)

// Verdicts of a check, and of a run as a whole.
const (
	Pass         = "pass"
	Fail         = "fail"
	Inconclusive = "inconclusive"
)

// Question is what a run was asked beside its checks.
type Question uint8

const (
	// ChecksOnly is a run that is judged by its checks alone: run, gate.
	ChecksOnly Question = iota
	// KneeAndPlateau is a run that must also answer where the knee is and what
	// comes after it: find, analyze.
	KneeAndPlateau
	// RejectionCost is a run that must also answer what a rejection costs: cost.
	RejectionCost
)

// Overall returns the verdict of a run from its checks, which Judge filled in,
// and its answers. A fail outranks an inconclusive.
//
// A knee or plateau that is generator_limited, insufficient, inversion or
// inconclusive is no answer; no goodput at all is a fail. A decline, a
// collapse, no_knee, below_range and range_short are answers. A run without
// checks fails when nothing was good, and is inconclusive when nothing came or
// the load could not be offered.
func Overall(r *analysis.Result, asked Question) string {
	overall := Pass
	add := func(v string) {
		switch {
		case v == Pass || overall == Fail:
		default:
			overall = v
		}
	}
	for _, c := range r.Checks {
		add(c.Verdict)
	}
	if r.Aborted != nil {
		add(Inconclusive) // what was to come is not known
	}
	switch {
	case asked == KneeAndPlateau:
		add(answered(r.Knee.Verdict))
		add(answered(r.Plateau.Verdict))
	case asked == RejectionCost:
		if r.Rejection.Verdict != "measured" {
			add(Inconclusive)
		}
	case len(r.Checks) == 0:
		add(unjudged(r))
	}
	return overall
}

// unjudged is the verdict of a run that has no checks.
func unjudged(r *analysis.Result) string {
	var planned, good uint64
	for _, s := range r.Steps {
		planned += s.Counts.Planned
		good += s.Counts.Good
	}
	switch {
	case planned == 0, r.Generator.Verdict == "limited":
		return Inconclusive
	case good == 0:
		return Fail
	}
	return Pass
}

// answered says what the verdict of a knee or plateau means for the run.
func answered(verdict string) string {
	switch verdict {
	case "found", "no_knee", "below_range", "plateau", "decline", "collapse", "range_short":
		return Pass
	case "no_goodput":
		return Fail
	}
	return Inconclusive
}

// Code returns the exit code of an overall verdict. inconclusive is what an
// inconclusive run counts as: Pass, Fail, or Inconclusive (also "").
func Code(overall, inconclusive string) int {
	if overall == Inconclusive && (inconclusive == Pass || inconclusive == Fail) {
		overall = inconclusive
	}
	switch overall {
	case Pass:
		return CodeOK
	case Fail:
		return CodeFailed
	}
	return CodeInconclusive
}
