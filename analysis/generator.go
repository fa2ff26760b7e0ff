package analysis

import (
	"fmt"
	"strings"
	"time"
)

// Verdicts of Generator.
const (
	generatorOK      = "ok"
	generatorSuspect = "suspect"
	generatorLimited = "limited"
)

// generatorOf says whether the loads of a run were really offered.
//
// It is limited when a load could not be: the step says so. It is suspect when
// something was near that, or when what it did may show in the measurements.
func generatorOf(steps []Step, m Meta) Generator {
	g := Generator{Verdict: generatorOK, Evidence: []string{}}
	measured := steps[:0:0]
	for _, s := range steps {
		if s.Phase != Drain && s.Phase != Settle && !s.SetAside {
			measured = append(measured, s)
		}
	}
	if why := limitedSteps(measured, len(steps)); why != "" {
		g.Verdict = generatorLimited
		g.Evidence = append(g.Evidence, why)
		g.CeilingRPS = honest(measured)
	}
	if m.Run.Clock != Virtual {
		g.CPUShare = m.CPUShare
		for _, s := range measured {
			if p99 := s.LagMS.P99; p99 != nil && (g.LagP99MS == nil || *p99 > *g.LagP99MS) {
				g.LagP99MS = p99
			}
		}
		uneasy := doubts(measured, m)
		if g.Verdict == generatorOK && len(uneasy) > 0 {
			g.Verdict = generatorSuspect
		}
		g.Evidence = append(g.Evidence, uneasy...)
		if g.Verdict != generatorOK {
			g.Evidence = append(g.Evidence, causes(measured, m)...)
		}
	}
	if len(g.Evidence) > 0 {
		g.Why = g.Evidence[0]
	}
	return g
}

// limitedSteps says which loads could not be offered, of all steps; "" when all
// could.
func limitedSteps(measured []Step, all int) string {
	var first *Step
	n := 0
	for i := range measured {
		if s := &measured[i]; isLimited(*s) {
			n++
			if first == nil || s.IntendedRPS < first.IntendedRPS {
				first = s
			}
		}
	}
	if first == nil {
		return ""
	}
	return fmt.Sprintf("%d of %d steps could not be offered, from %.4g/s on: %s", n, all, first.IntendedRPS, first.Why)
}

// honest returns the highest load that was offered, if a higher one could not
// be; else nil: what disturbs lower loads is no ceiling.
func honest(measured []Step) *float64 {
	tried, offered := 0.0, 0.0
	for _, s := range measured {
		switch {
		case isLimited(s):
			tried = max(tried, s.IntendedRPS)
		case s.Valid:
			offered = max(offered, s.OfferedRPS)
		}
	}
	if offered >= tried {
		return nil
	}
	return positive(offered)
}

// leastLag is the lag p99 below which it does not matter how fast a server is.
const leastLag = time.Millisecond

// doubts are the reasons for which a generator is suspect, each by the load for
// which it is worst.
func doubts(measured []Step, m Meta) []string {
	var all []string
	worst := func(of func(s Step) (badness float64, text string)) {
		most, said := 0.0, ""
		for _, s := range measured {
			if isLimited(s) {
				continue // it has been said
			}
			if badness, text := of(s); badness > most {
				most, said = badness, fmt.Sprintf("at %.4g/s %s", s.IntendedRPS, text)
			}
		}
		if said != "" {
			all = append(all, said)
		}
	}
	worst(func(s Step) (float64, string) {
		lag := valueOf(s.LagMS.P99)
		if lag <= uneasyLag*ms(m.patience()) {
			return 0, ""
		}
		return lag, fmt.Sprintf("the lag p99 was %.1f ms, above a twentieth of the timeout", lag)
	})
	worst(func(s Step) (float64, string) {
		lag, service := valueOf(s.LagMS.P99), valueOf(s.ServiceMS.P50)
		if service == 0 || lag < ms(leastLag) || lag < service/2 {
			return 0, ""
		}
		return lag / service, fmt.Sprintf("the lag p99 was %.2f ms, where the median answer took %.2f ms: response times are the generator's as much as the server's", lag, service)
	})
	worst(func(s Step) (float64, string) {
		return float64(s.Counts.Unsent), fmt.Sprintf("%d of %d requests were unsent (%s)", s.Counts.Unsent, s.Counts.Planned, most(s.UnsentByReason))
	})
	worst(func(s Step) (float64, string) {
		if s.Generator == nil {
			return 0, ""
		}
		share, of := s.Generator.taken(m)
		if share < highUse {
			return 0, ""
		}
		return share, "the generator had little CPU left: " + of
	})
	worst(func(s Step) (float64, string) {
		if s.Generator == nil || valueOf(s.Generator.WaitedShare) < waiting {
			return 0, ""
		}
		return *s.Generator.WaitedShare, fmt.Sprintf("the generator's busiest thread waited for a CPU for %.0f%% of the time: others run there", 100**s.Generator.WaitedShare)
	})
	worst(func(s Step) (float64, string) {
		if s.Generator == nil || m.Machine.Descriptors == nil {
			return 0, ""
		}
		open, limit := float64(s.Generator.Descriptors), float64(*m.Machine.Descriptors)
		if open < nearLimit*limit {
			return 0, ""
		}
		return open, fmt.Sprintf("%.0f of %.0f descriptors were open", open, limit)
	})
	return all
}

// leastStolen is the share of one CPU from which what the hypervisor takes may
// show.
const leastStolen = 0.02

// causes are what may have made a generator late that was.
func causes(measured []Step, m Meta) []string {
	var all []string
	var pausing, robbed, full, busy *Step
	busiest := highUse
	for i := range measured {
		s := &measured[i]
		u := s.Generator
		if u == nil {
			continue
		}
		// What only kept requests back shows the CPU nowhere else.
		if share, of := u.taken(m); isLimited(*s) && share >= busiest && !strings.Contains(s.Why, of) {
			busy, busiest = s, share
		}
		if u.GCPauseMS >= valueOf(s.LagMS.P99)/2 && u.GCPauseMS > ms(leastLag) && (pausing == nil || u.GCPauseMS > pausing.Generator.GCPauseMS) {
			pausing = s
		}
		if stolen := valueOf(u.StolenShare); stolen >= leastStolen && (robbed == nil || stolen > *robbed.Generator.StolenShare) {
			robbed = s
		}
		if m.Machine.Ports != nil && float64(u.Connections) >= nearLimit*float64(*m.Machine.Ports) && (full == nil || u.Connections > full.Generator.Connections) {
			full = s
		}
	}
	if busy != nil {
		_, of := busy.Generator.taken(m)
		all = append(all, fmt.Sprintf("at %.4g/s the generator had little CPU left: %s", busy.IntendedRPS, of))
	}
	if pausing != nil {
		all = append(all, fmt.Sprintf("at %.4g/s the garbage collector stopped the generator for up to %.1f ms", pausing.IntendedRPS, pausing.Generator.GCPauseMS))
	}
	if robbed != nil {
		all = append(all, fmt.Sprintf("at %.4g/s the hypervisor had the CPUs do other things for %.1f%% of the time of one", robbed.IntendedRPS, 100**robbed.Generator.StolenShare))
	}
	if full != nil {
		all = append(all, fmt.Sprintf("at %.4g/s %d connections were open, of %d local ports to one address", full.IntendedRPS, full.Generator.Connections, *m.Machine.Ports))
	}
	return all
}

func valueOf(p *float64) float64 {
	if p == nil {
		return 0
	}
	return *p
}
