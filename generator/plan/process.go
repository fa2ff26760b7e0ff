package plan

import (
	"fmt"
	"slices"
	"strings"
)

// processNames are the names of the processes in a profile, by Process.
var processNames = []string{Constant: "constant", Poisson: "poisson", Bursty: "bursty", Replayed: "replay"}

var processes = "one of " + strings.Join(processNames, ", ")

// String returns the name of p in a profile.
func (p Process) String() string {
	if int(p) < len(processNames) {
		return processNames[p]
	}
	return fmt.Sprintf("process(%d)", uint8(p))
}

// ParseProcess returns the process called name; "" is the default, Constant.
func ParseProcess(name string) (Process, error) {
	if name == "" {
		return Constant, nil
	}
	if i := slices.Index(processNames, name); i >= 0 {
		return Process(i), nil
	}
	return 0, &FieldError{Field: "arrivals", Is: fmt.Sprintf("%q", name), Want: processes}
}
