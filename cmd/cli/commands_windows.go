package cli

import "os"

// The shell that runs command lines.
const shellName, shellFlag = "cmd.exe", "/C"

// endGroup ends a process. A console program cannot be asked to end from outside.
func endGroup(p *os.Process, _ bool) { _ = p.Kill() }
