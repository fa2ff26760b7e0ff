package host

import (
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Speeds tells how fast this machine is now: the rounds of a loop that the slowest of
// n threads does per second, and how often a byte goes to and fro per second on a TCP
// connection over loopback. Each takes d.
func Speeds(n int, d time.Duration) (cpu, loopback float64, err error) {
	cpu = spinning(max(n, 1), d)
	if loopback, err = pingPong(d); err != nil {
		return 0, 0, fmt.Errorf("how fast loopback connections are: %w", err)
	}
	return cpu, loopback, nil
}

// spun keeps the loop from being optimised away.
var spun atomic.Uint64

func spinning(n int, d time.Duration) float64 {
	const batch = 1 << 14
	speeds := make([]float64, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			start := time.Now()
			x, rounds := uint64(1), 0
			for time.Since(start) < d {
				for range batch {
					x ^= x << 13
					x ^= x >> 7
					x ^= x << 17
				}
				rounds += batch
			}
			spun.Add(x)
			speeds[i] = float64(rounds) / time.Since(start).Seconds()
		})
	}
	all.Wait()
	slowest := speeds[0]
	for _, s := range speeds {
		slowest = min(slowest, s)
	}
	return slowest
}

func pingPong(d time.Duration) (float64, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close()
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		_, _ = io.Copy(c, c)
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		return 0, err
	}
	defer c.Close()
	start := time.Now()
	if err := c.SetDeadline(start.Add(d + 5*time.Second)); err != nil {
		return 0, err
	}
	var b [1]byte
	for n := 0; ; n++ {
		if took := time.Since(start); took >= d {
			return float64(n) / took.Seconds(), nil
		}
		if _, err := c.Write(b[:]); err != nil {
			return 0, err
		}
		if _, err := io.ReadFull(c, b[:]); err != nil {
			return 0, err
		}
	}
}
