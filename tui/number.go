package tui

import (
	"fmt"
	"math"
	"time"
)

// clock formats a duration as minutes and seconds, hours where there are any.
func clock(d time.Duration) string {
	s := int(max(d, 0).Round(time.Second) / time.Second)
	if h := s / 3600; h > 0 {
		return fmt.Sprintf("%d:%02d:%02d", h, s/60%60, s%60)
	}
	return fmt.Sprintf("%d:%02d", s/60, s%60)
}

// rate formats a number of requests per second with about three digits.
func rate(v float64) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "-"
	case v >= 99.95:
		return fmt.Sprintf("%.0f", v)
	case v >= 9.995:
		return fmt.Sprintf("%.1f", v)
	}
	return fmt.Sprintf("%.2f", v)
}
