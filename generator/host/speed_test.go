package host

import (
	"testing"
	"time"
)

func TestSpeeds(t *testing.T) {
	cpu, loopback, err := Speeds(2, 10*time.Millisecond)
	if err != nil || cpu <= 0 || loopback <= 0 {
		t.Errorf("%v rounds and %v trips per second, %v; want some of both", cpu, loopback, err)
	}
}
