package client

import (
	"errors"
	"time"

	"knee/target/plugin"
)

// ReasonBudget says that a budget did not allow a further attempt. It is never
// the ending of an original, which ends as its last attempt did.
const ReasonBudget = "budget"

func init() {
	Registry.Register(plugin.Info[NewBehaviour]{
		Name:  "retry_budget",
		Doc:   "allows retries and hedges only as a share of the load; stands behind what makes them",
		Worse: "where failures are rare and cheap and each original counts: it gives up some that another attempt would have saved",
		Knobs: func() any {
			return &budgetKnobs{Rule: ruleRatio, Window: 10 * time.Second, MinConcurrent: 3, MaxTokens: 10, CountWaiting: true, Per: perClient}
		},
		New: newRetryBudget,
	})
}

// The rules of a retry_budget.
const (
	ruleRatio   = "ratio"
	ruleFinagle = "finagle"
	ruleEnvoy   = "envoy"
	ruleGRPC    = "grpc"
)

type budgetKnobs struct {
	Rule          string        `yaml:"rule" doc:"ratio (further attempts by first ones in the window), finagle (tokens that first attempts leave and that expire), envoy (share of what is under way) or grpc (tokens that failures take away)"`
	Ratio         float64       `yaml:"ratio" doc:"further attempts for each first one, above 0, up to 1; grpc: tokens that a success gives back, to three decimals; default 0.1, with finagle and envoy 0.2"`
	Window        time.Duration `yaml:"window" doc:"of ratio and finagle: how long an attempt counts, 1s to 1h"`
	Reserve       *float64      `yaml:"reserve" doc:"of finagle: further attempts allowed each second in any case, 0 to 1000000; default 10. For each caller with per: client: many callers with few requests each are not held back by it"`
	MinConcurrent int           `yaml:"min_concurrent" doc:"of envoy: further attempts that may be under way in any case, 0 to 1000000"`
	CountWaiting  bool          `yaml:"count_waiting" doc:"of envoy: further attempts that wait for their instant count as under way; with false only those that are sent do, and a long backoff defeats the budget"`
	MaxTokens     int           `yaml:"max_tokens" doc:"of grpc: tokens at most, and at first; a further attempt is allowed while more than half are there; 1 to 1000"`
	Per           string        `yaml:"per" doc:"whose state it is: client (every caller has its own) or all (one for the whole population)"`
}

// A budget says whether a further attempt may come.
type budget interface {
	first(now time.Duration)                             // a first attempt passes
	plan(now time.Duration) bool                         // may a further one be planned?
	begin(now time.Duration, further, planned bool) bool // an attempt is about to pass; planned says that it was allowed before
	end(now time.Duration, c course, r Result)           // one of those is over
}

// course is what a budget has seen of an attempt: it stands in the mark.
type course uint64

const (
	hadPlan   course = 1 << iota
	isFurther        // it has begun, and is not the first
	hasBegun
)

// retryBudget refuses attempts that follow from others, be they retries or
// hedges, when its rule says so. First attempts always pass.
type retryBudget struct {
	states states[budget]
}

func newRetryBudget(s Setup, knobs any) (Behaviour, error) {
	k := *knobs.(*budgetKnobs)
	if k.Ratio == 0 {
		k.Ratio = 0.1
		if k.Rule == ruleFinagle || k.Rule == ruleEnvoy {
			k.Ratio = 0.2
		}
	}
	reserve := 10.0
	if k.Reserve != nil {
		reserve = *k.Reserve
	}
	if err := k.check(reserve); err != nil {
		return nil, err
	}
	fresh := map[string]func() budget{
		ruleRatio:   func() budget { return newRatioBudget(k.Ratio, k.Window) },
		ruleFinagle: func() budget { return newTokenBudget(k.Ratio, reserve, k.Window) },
		ruleEnvoy: func() budget {
			return &concurrentBudget{share: k.Ratio, least: k.MinConcurrent, countWaiting: k.CountWaiting}
		},
		ruleGRPC: func() budget { return newTokenThrottle(k.MaxTokens, k.Ratio) },
	}[k.Rule]
	return &retryBudget{newStates(s, k.Per, func() *budget { b := fresh(); return &b })}, nil
}

func (k *budgetKnobs) check(reserve float64) error {
	var errs []error
	switch k.Rule {
	case ruleRatio, ruleFinagle, ruleEnvoy:
		if !(k.Ratio > 0 && k.Ratio <= 1) {
			errs = append(errs, plugin.Knob("ratio", k.Ratio, "above 0, up to 1"))
		}
	case ruleGRPC:
		if !(k.Ratio >= 0.001 && k.Ratio <= 1) {
			errs = append(errs, plugin.Knob("ratio", k.Ratio, "0.001 to 1 with grpc"))
		}
	default:
		errs = append(errs, plugin.Knob("rule", k.Rule, "ratio, finagle, envoy or grpc"))
	}
	if k.Window < time.Second || k.Window > time.Hour {
		errs = append(errs, plugin.Knob("window", k.Window, "1s to 1h"))
	}
	if !(reserve >= 0 && reserve <= 1e6) {
		errs = append(errs, plugin.Knob("reserve", reserve, "0 to 1000000"))
	}
	if k.MinConcurrent < 0 || k.MinConcurrent > 1e6 {
		errs = append(errs, plugin.Knob("min_concurrent", k.MinConcurrent, "0 to 1000000"))
	}
	if k.MaxTokens < 1 || k.MaxTokens > 1000 {
		errs = append(errs, plugin.Knob("max_tokens", k.MaxTokens, "1 to 1000"))
	}
	return errors.Join(append(errs, checkPer(k.Per))...)
}

// Plan is asked once for each further attempt, when it is wished for.
func (r *retryBudget) Plan(now time.Duration, a *Attempt) string {
	if b := *r.states.get(a); !b.plan(now) {
		return ReasonBudget
	}
	a.Mark.Count = uint64(hadPlan)
	return ""
}

func (r *retryBudget) Before(now time.Duration, a *Attempt) (time.Duration, string) {
	b, c := *r.states.get(a), course(a.Mark.Count)
	if a.Number == 1 {
		b.first(now)
	}
	if !b.begin(now, a.Number > 1, c&hadPlan != 0) {
		return now, ReasonBudget
	}
	c |= hasBegun
	if a.Number > 1 {
		c |= isFurther
	}
	a.Mark.Count = uint64(c)
	return now, ""
}

func (r *retryBudget) After(now time.Duration, a *Attempt, e Answer) time.Duration {
	(*r.states.get(a)).end(now, course(a.Mark.Count), e.Result)
	return never
}
