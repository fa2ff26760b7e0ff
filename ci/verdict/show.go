package verdict

import (
	"strconv"
	"time"
)

// show returns a measured number with four significant digits; whole numbers
// in full.
func show(v float64, u Unit) string {
	switch u {
	case Duration:
		if v == infinite {
			return "never"
		}
		return rounded(time.Duration(v)).String()
	case Rate:
		return digits(v) + "/s"
	case X:
		return digits(v) + "x"
	case Percent: // held as a share
		return digits(v*100) + "%"
	}
	return digits(v)
}

// ofShare turns a share into the percentage that it is printed as.
func (v Value) ofShare() Value {
	if v.Unit == Percent {
		v.Number *= 100
	}
	return v
}

func digits(v float64) string {
	if v == float64(int64(v)) {
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	rounded, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 4, 64), 64)
	if err != nil {
		return strconv.FormatFloat(v, 'f', -1, 64) // infinite
	}
	return strconv.FormatFloat(rounded, 'f', -1, 64)
}

// rounded keeps four significant digits of d.
func rounded(d time.Duration) time.Duration {
	unit := time.Duration(1)
	for d/unit >= 10_000 {
		unit *= 10
	}
	return d.Round(unit)
}
