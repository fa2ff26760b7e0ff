package live

import (
	"bufio"
	"fmt"
	"net"
	"testing"
	"time"
)

// BenchmarkLag reports how late requests are sent, against a handler that does
// nothing, by the two ways of waiting. Run it with -benchtime 1x.
func BenchmarkLag(b *testing.B) {
	for _, rate := range []float64{1000, 5000, 10000} {
		for _, coarse := range []bool{true, false} {
			name := map[bool]string{true: "timer", false: "kernel"}[coarse]
			b.Run(fmt.Sprintf("%g/%s", rate, name), func(b *testing.B) {
				for b.Loop() {
					r := trip{url: serveNothing(b).url, rate: rate, length: 2 * time.Second, options: Options{Coarse: coarse}}.run(b)
					lag := r.series.Steps()[0].Lag
					b.ReportMetric(float64(lag.P50.Microseconds()), "p50-µs")
					b.ReportMetric(float64(lag.P99.Microseconds()), "p99-µs")
					b.ReportMetric(float64(lag.Max.Microseconds()), "max-µs")
					service := r.series.Steps()[0].Service
					b.ReportMetric(float64(service.P50.Microseconds()), "service-p50-µs")
					b.ReportMetric(float64(service.P99.Microseconds()), "service-p99-µs")
					b.ReportMetric(float64(r.tally.Good), "good")
					b.ReportMetric(float64(r.stats.Opened), "conns")
					b.ReportMetric(r.stats.CPU.Seconds()/float64(r.tally.Good)*1e6, "cpu-µs/req")
				}
			})
		}
	}
}

// serveNothing starts a server that answers each request with 204 at once and
// costs as little as a server can.
func serveNothing(t testing.TB) *rawServer {
	return serveRaw(t, func(c *net.TCPConn) {
		in := bufio.NewReader(c)
		answer := []byte("HTTP/1.1 204 No Content\r\n\r\n")
		for {
			for {
				line, err := in.ReadSlice('\n')
				if err != nil {
					return
				}
				if len(line) == 2 {
					break
				}
			}
			if _, err := c.Write(answer); err != nil {
				return
			}
		}
	})
}
