package server_test

import (
	"reflect"
	"testing"
	"time"

	"knee/target/server"
)

func TestCountsPlus(t *testing.T) {
	a := server.Counts{
		Arrived: 1, Served: 2, Degraded: 3, Failed: 4, FailedBy: map[string]uint64{"crash": 1},
		Refused: map[string]uint64{"count": 5}, Dropped: nil, Resets: 6, Peak: 7, Worked: time.Second,
	}
	b := server.Counts{
		Arrived: 10, Served: 20, Degraded: 30, Failed: 40, FailedBy: map[string]uint64{"down": 1},
		Refused: map[string]uint64{"count": 50, "rate": 1}, Dropped: map[string]uint64{"deadline": 2}, Resets: 60, Peak: 3, Worked: time.Minute,
	}
	want := server.Counts{
		Arrived: 11, Served: 22, Degraded: 33, Failed: 44, FailedBy: map[string]uint64{"crash": 1, "down": 1},
		Refused: map[string]uint64{"count": 55, "rate": 1}, Dropped: map[string]uint64{"deadline": 2}, Resets: 66, Peak: 7, Worked: 61 * time.Second,
	}
	if got := a.Plus(b); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if a.Refused["count"] != 5 {
		t.Error("a summand was changed")
	}
}
