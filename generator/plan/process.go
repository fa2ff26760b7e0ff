package plan

import "fmt"

// String returns the name of p in a profile.
func (p Process) String() string {
	switch p {
	case Constant:
		return "constant"
	case Poisson:
		return "poisson"
	}
	return fmt.Sprintf("process(%d)", uint8(p))
}

// ParseProcess returns the process called name; "" is the default, Constant.
func ParseProcess(name string) (Process, error) {
	switch name {
	case "", "constant":
		return Constant, nil
	case "poisson":
		return Poisson, nil
	case "bursty", "replay":
		return 0, &FieldError{Field: "arrivals", Is: name + ", which is not built yet", Want: "constant or poisson"}
	}
	return 0, &FieldError{Field: "arrivals", Is: fmt.Sprintf("%q", name), Want: "constant or poisson"}
}
