package live

import (
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // for a known date
		date := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
		for name, test := range map[string]struct {
			header http.Header
			want   time.Duration
			odd    uint64
		}{
			"none":                {http.Header{}, 0, 0},
			"seconds":             {http.Header{"Retry-After": {"2"}}, 2 * time.Second, 0},
			"zero":                {http.Header{"Retry-After": {"0"}}, 0, 0},
			"date":                {http.Header{"Retry-After": {date(3 * time.Second)}}, 3 * time.Second, 0},
			"date in the past":    {http.Header{"Retry-After": {date(-time.Hour)}}, 0, 0},
			"far too long":        {http.Header{"Retry-After": {"99999999999999999999"}}, 24 * time.Hour, 0},
			"negative":            {http.Header{"Retry-After": {"-5"}}, 0, 1},
			"with a fraction":     {http.Header{"Retry-After": {"1.5"}}, 0, 1},
			"a word":              {http.Header{"Retry-After": {"abc"}}, 0, 1},
			"empty":               {http.Header{"Retry-After": {""}}, 0, 1},
			"exact, by ours":      {http.Header{"Retry-After": {"1"}, "Knee-Retry-After-Ms": {"12.5"}}, 12500 * time.Microsecond, 0},
			"unreadable, by ours": {http.Header{"Retry-After": {"1"}, "Knee-Retry-After-Ms": {"soon"}}, time.Second, 0},
		} {
			var odd atomic.Uint64
			j := judge{odd: &odd}
			if got := j.retryAfter(httpFields(test.header)); got != test.want || odd.Load() != test.odd {
				t.Errorf("%s: %v, %d odd: want %v, %d", name, got, odd.Load(), test.want, test.odd)
			}
		}
	})
}
