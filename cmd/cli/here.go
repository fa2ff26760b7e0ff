package cli

import (
	"runtime"

	"knee/analysis"
	"knee/generator/host"
)

// thisMachine describes where knee runs.
func thisMachine() analysis.Machine {
	m := analysis.Machine{
		OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), CPUModel: cpuModel(), Go: runtime.Version(),
		CPUsAllowed: runtime.NumCPU(),
	}
	if allowed, err := host.Allowed(); err == nil {
		m.CPUsAllowed = len(allowed)
	}
	if quota := host.Quota(); quota > 0 {
		m.CPUQuota = &quota
	}
	if n := host.Descriptors(); n > 0 {
		m.Descriptors = &n
	}
	if n := host.Ports(); n > 0 {
		m.Ports = &n
	}
	return m
}

// usable returns how many CPUs' time processes of m may use.
func usable(m analysis.Machine) float64 {
	n := float64(m.CPUsAllowed)
	if m.CPUQuota != nil {
		n = min(n, *m.CPUQuota)
	}
	return n
}
