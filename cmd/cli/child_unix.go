//go:build unix && !linux

package cli

import "syscall"

// childAttributes gives the child a process group of its own, so that ctrl-C in
// the terminal reaches it only through its parent.
func childAttributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
