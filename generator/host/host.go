// Package host tells what the machine gives this process, and what the process takes of it: CPUs, descriptors, ports, memory.
//
// Where the platform does not tell, the value is 0, or the description says so.
package host
