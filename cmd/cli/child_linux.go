package cli

import "syscall"

// childAttributes gives the child a process group of its own, so that ctrl-C in
// the terminal reaches it only through its parent, and has it killed when the
// thread that started it ends; see (*child).run.
func childAttributes() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
