package fault_test

import (
	"strings"
	"testing"

	"knee/target/fault"
)

// TestNamesOfTheContract holds the list of kind names of the command-line contract.
func TestNamesOfTheContract(t *testing.T) {
	for _, name := range strings.Fields("slow_service lose_workers stall pause error_share crash_restart slow_reject contention dependency_stall expensive_burst") {
		_, err := fault.Registry.Lookup(name)
		if built := err == nil; built == fault.NotBuilt(name) {
			t.Errorf("%s: built is %v and not built is %v", name, built, !built)
		}
	}
}
