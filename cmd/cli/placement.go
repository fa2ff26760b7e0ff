package cli

import (
	"os"
	"runtime"

	"knee/analysis"
	"knee/generator/host"
	"knee/target/serve"
)

// What --pin can be.
const (
	pinAuto = "auto"
	pinOff  = "off"
)

// leastProcs is the least GOMAXPROCS of a generator. The thread that sends comes
// back from the kernel thousands of times a second: with one place for all
// goroutines it would find it taken.
const leastProcs = 2

// A placement is where generator and server run.
type placement struct {
	server     host.CPUs           // of the built-in server; nil: wherever the generator may
	generators int                 // how many CPUs the generator has, when it is bound
	bound      *analysis.Placement // nil: nothing was bound
	release    func()              // puts this process back to how it was
}

// perCPU returns the highest load, in requests per second, for which one CPU is
// left to the built-in server that sheds at stage. Beyond it most of the CPU would
// be taken, and soon the CPU would be what is measured: a request costs net/http up
// to 60 µs, and up to 40 µs where it is refused after its head.
func perCPU(stage serve.Stage) float64 {
	if stage == serve.Headers {
		return 20_000
	}
	return 10_000
}

// place binds this process to some of its CPUs and leaves the others to a
// server of ours, so that neither takes time from the other, nor moves: where it
// may use two CPUs, pin says auto, and what is left is enough for a load of up to
// peak, each CPU for one of up to most. A system that refuses places by itself.
func place(pin string, peak, most float64) placement {
	p := placement{release: func() {}}
	_, chosen := os.LookupEnv("GOMAXPROCS")
	if n := runtime.GOMAXPROCS(0); n < leastProcs && !chosen {
		runtime.GOMAXPROCS(leastProcs)
		p.release = runtime.SetDefaultGOMAXPROCS
	}
	all, err := host.Allowed()
	if quota := host.Quota(); pin != pinAuto || err != nil || quota > 0 && quota < 2 {
		return p
	}
	generator, server, ok := host.Split(host.Cores(all))
	if !ok || peak > most*float64(len(server)) || host.Bind(generator) != nil {
		return p
	}
	if !chosen {
		// Said, it is not adapted to the CPUs that are left.
		runtime.GOMAXPROCS(max(leastProcs, len(generator)))
	}
	p.server, p.generators = server, len(generator)
	p.bound = &analysis.Placement{Generator: generator.String(), Server: server.String()}
	p.release = func() {
		_ = host.Bind(all)
		if !chosen {
			runtime.SetDefaultGOMAXPROCS()
		}
	}
	return p
}
