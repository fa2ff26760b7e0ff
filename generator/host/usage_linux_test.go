package host

import (
	"testing"
	"time"
)

func TestStolen(t *testing.T) {
	for text, want := range map[string]time.Duration{
		"cpu  1929220 120528 736141 6883357 14622 0 54455 28451 0 0\ncpu0 1 2": 284510 * time.Millisecond,
		"cpu 1 2 3 4 5 6 7 8": 80 * time.Millisecond,
		"cpu 1 2 3 4":         0,
		"cpu 1 2 3 4 5 6 7 x": 0,
		"":                    0,
	} {
		if got := stolen([]byte(text)); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

// What is read many times leaves next to nothing behind.
func TestReadingsLeaveLittle(t *testing.T) {
	m := NewMeter()
	m.Read()
	if n := testing.AllocsPerRun(50, func() {
		m.Read()
		m.Resident()
	}); n > 100 {
		t.Errorf("%v allocations: want those of the names alone", n)
	}
}
