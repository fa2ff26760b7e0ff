package main

import (
	"os/exec"
	"runtime"

	"knee/generator/host"
)

// startOn starts a process on the given CPUs; none leaves it where this one is.
// What a process inherits are the CPUs of the thread that starts it.
func startOn(on host.CPUs, cmd *exec.Cmd) error {
	if len(on) == 0 {
		return cmd.Start()
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	before, err := host.Allowed()
	if err != nil {
		return err
	}
	if err := host.BindThread(on); err != nil {
		return err
	}
	defer func() { _ = host.BindThread(before) }() // they were allowed a moment ago
	return cmd.Start()
}

// usualPlaces returns a CPU for the servers and one for the tools, both -1 where
// processes cannot be bound to one, or there are not two.
func usualPlaces() (server, generator int) {
	allowed, err := host.Allowed()
	if err != nil {
		return -1, -1
	}
	generators, servers, ok := host.Split(host.Cores(allowed))
	if !ok {
		return -1, -1
	}
	return servers[0], generators[0]
}

// places returns the CPUs of a flag.
func places(cpu int) host.CPUs {
	if cpu < 0 {
		return nil
	}
	return host.CPUs{cpu}
}
