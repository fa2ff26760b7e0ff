package host

import "slices"

// mostGenerator is how many cores a generator is given: one for the loop that
// sends, the others for recording, garbage and what carries HTTP/2.
const mostGenerator = 4

// Split divides CPUs between a generator and a server on the same machine, by
// whole cores where there are two: half for the generator, four cores at most.
// It reports false when there are not two CPUs.
func Split(cores []CPUs) (generator, server CPUs, ok bool) {
	if len(cores) == 1 { // two threads of one core are better than one CPU for both
		cores = alone(cores[0])
	}
	if len(cores) < 2 {
		return nil, nil, false
	}
	// The first CPU is where most interrupts go: the server's, which has more.
	n := len(cores) - min(len(cores)/2, mostGenerator)
	server, generator = slices.Concat(cores[:n]...), slices.Concat(cores[n:]...)
	slices.Sort(server)
	slices.Sort(generator)
	return generator, server, true
}

// alone returns each CPU of c as a core.
func alone(c CPUs) []CPUs {
	var cores []CPUs
	for _, cpu := range c {
		cores = append(cores, CPUs{cpu})
	}
	return cores
}
