package host

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
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

// Without a descriptor left the kernel tells nothing: that is no time that was
// given back.
func TestMeterThatCannotRead(t *testing.T) {
	m := NewMeter()
	before := len(m.threads)
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	none := limit
	none.Cur = 0
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &none); err != nil {
		t.Skip(err)
	}
	u := m.Read()
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if u.Stolen != 0 || u.ThreadRan != 0 || u.ThreadWaited != 0 {
		t.Errorf("%+v, though nothing could be read", u)
	}
	if len(m.threads) != before {
		t.Errorf("%d threads are known, %d were", len(m.threads), before)
	}
}
