package analysis

import (
	"slices"
	"time"

	"knee/analysis/recovery"
	"knee/generator/record"
)

// recoveryOf says how long goodput took to return after the spikes and faults of a run.
func recoveryOf(recorded []*record.Step, series *record.Series, m Meta) Recovery {
	out := Recovery{Verdict: notTested}
	var verdicts []recovery.Result
	for i, s := range recorded {
		if s.Info.Phase != Spike || slices.Contains(m.SetAside, s.Info.Trial) {
			continue
		}
		before, after := around(recorded, i)
		if before == nil || len(after) == 0 {
			out.Why = "a spike needs the same load before and after it"
			continue
		}
		verdicts = append(verdicts, afterSpike(before, s, after, series, m))
		out.Spikes++
	}
	for _, r := range afterFaults(recorded, series, m) {
		if r.Verdict == "" {
			out.Why = r.Why
			continue
		}
		verdicts = append(verdicts, r)
		out.Faults++
	}
	if len(verdicts) == 0 {
		if out.Why == "" {
			out.Why = "there was no spike"
		}
		return out
	}
	recovered := 0
	for _, r := range verdicts {
		if r.Verdict == recovery.Recovered {
			recovered++
		}
	}
	// The verdict is the median one, where one that says that goodput did not
	// recover counts as later than all that did.
	order := []string{recovery.Recovered, recovery.Slow, recovery.NotRecovered, recovery.Inconclusive}
	slices.SortStableFunc(verdicts, func(a, b recovery.Result) int {
		if d := slices.Index(order, a.Verdict) - slices.Index(order, b.Verdict); d != 0 {
			return d
		}
		return int(a.FromEnd - b.FromEnd)
	})
	median := verdicts[len(verdicts)/2]
	out.Verdict, out.Why = median.Verdict, median.Why
	out.LostGood = some(median.Lost)
	switch median.Verdict {
	case recovery.Recovered:
		out.MedianS = some(median.FromEnd.Seconds())
		out.LowS, out.HighS = some(verdicts[0].Low.Seconds()), some(median.High.Seconds())
		if last := verdicts[recovered-1]; recovered == len(verdicts) {
			out.HighS = some(last.High.Seconds())
		} else {
			out.HighS = nil // some were not recovered from
		}
	case recovery.Slow:
		out.ProjectionS = some(median.Projection.Seconds())
	}
	return out
}

// around returns the step before spike i and those after it, of its trial and
// with one load: that before it. A settling step in between does not count.
func around(recorded []*record.Step, i int) (before *record.Step, after []*record.Step) {
	if i == 0 {
		return nil, nil
	}
	trial := recorded[i].Info.Trial
	before = recorded[i-1]
	if before.Info.Trial != trial || before.Info.From != before.Info.To {
		return nil, nil
	}
	for _, s := range recorded[i+1:] {
		if s.Info.Trial != trial || s.Info.From != before.Info.To || s.Info.To != before.Info.To {
			break
		}
		after = append(after, s)
	}
	return before, after
}

// afterSpike measures the recovery from one spike.
func afterSpike(before, spike *record.Step, after []*record.Step, series *record.Series, m Meta) recovery.Result {
	start := spike.Info.Start
	end := start + spike.Info.Duration
	var windows []recovery.Window
	for _, s := range append([]*record.Step{before, spike}, after...) {
		windows = append(windows, recoveryWindows(s, series)...)
	}
	o := recovery.Options{
		Deadline: m.Timeout,
		BaseRate: before.Info.Rate(),
		Every:    record.Window,
	}
	if sent := before.Total.Sent + before.Total.Withheld; sent > 0 {
		o.Baseline = float64(before.Total.Good) / float64(sent)
		o.BaselineP99 = before.Response.P99
	}
	return recovery.After(windows, start, end, o)
}

// recoveryWindows are the windows of a step. A last one that the step does not
// fill is left out.
func recoveryWindows(s *record.Step, series *record.Series) []recovery.Window {
	n := int(s.Info.Duration / record.Window)
	inFlight := series.InFlight(s.Info.Start, s.Info.Start+time.Duration(n)*record.Window)
	windows := make([]recovery.Window, n)
	for k := range windows {
		w := recovery.Window{At: s.Info.Start + time.Duration(k)*record.Window}
		if k < len(s.ByPlanned) {
			w.Sent = s.ByPlanned[k].Sent + s.ByPlanned[k].Withheld
			w.Good = s.ByPlanned[k].Good
		}
		if second := k * int(record.Window) / int(record.HistWindow); second < len(s.Seconds) {
			w.P99 = s.Seconds[second].P99
		}
		if k < len(inFlight) {
			w.InFlight = float64(inFlight[k])
		}
		windows[k] = w
	}
	return windows
}
