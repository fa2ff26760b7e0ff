package cases

import (
	"net"
	"runtime"
	"testing"
	"time"

	"knee/generator/live"
)

// Servers that do not answer, or take their time.
func TestSilence(t *testing.T) {
	hasty := trip{rate: 50, length: 200 * time.Millisecond, timeout: impatient}
	listening := hasty
	listening.listen, listening.grace = true, 100*time.Millisecond
	upload := hasty
	upload.requests = post(8 << 20)
	slow := func(text string, wait time.Duration) func(*peer) {
		return func(c *peer) {
			for {
				if _, ok := c.request(); !ok {
					return
				}
				for _, b := range []byte(text[:len(text)-1]) {
					if !c.say(string(b)) {
						return
					}
					time.Sleep(wait)
				}
				if !c.answer(text[len(text)-1:]) {
					return
				}
			}
		}
	}
	atLeast := func(d time.Duration) func(*testing.T, outcome, seen) {
		return func(t *testing.T, o outcome, _ seen) {
			if got := o.fastest(); got < d {
				t.Errorf("the fastest took %v: the server takes %v", got, d)
			}
		}
	}
	take(t, map[string]turn{
		"never":                     {talk: func(c *peer) { _, _ = c.head(); c.hold() }, trip: hasty, ends: ended("timeout")},
		"never, and callers listen": {talk: func(c *peer) { _, _ = c.head(); c.hold() }, trip: listening, ends: ended("timeout")},
		"never, and nothing is read": {
			talk: func(c *peer) {
				// Nothing tells a server that does not read that its caller has left.
				for range 100 {
					time.Sleep(20 * time.Millisecond)
				}
			}, trip: upload, ends: ended("timeout"), deaf: true,
		},
		"a head, and no body": {
			talk: func(c *peer) {
				if _, ok := c.request(); ok {
					c.say("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n")
					c.hold()
				}
			},
			trip: hasty, ends: ended("timeout"),
		},
		"a byte now and then":           {talk: slow(ok200, time.Millisecond), ends: good, check: atLeast(time.Duration(len(ok200)-1) * time.Millisecond)},
		"a byte now and then, for long": {talk: slow(ok200, 50*time.Millisecond), trip: hasty, ends: ended("timeout")},
	})
}

// Nobody listens. Where it can be had the address is one at which no other test does.
func TestNobodyListens(t *testing.T) {
	t.Parallel()
	host := "127.0.0.1"
	if runtime.GOOS == "linux" {
		host = "127.77.0.1"
	}
	l, err := net.Listen("tcp", host+":0")
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + l.Addr().String()
	l.Close()
	for _, engine := range append(plain(), live.H2) {
		t.Run(string(engine), func(t *testing.T) {
			t.Parallel()
			o := trip{rate: 50, length: 200 * time.Millisecond}.run(t, address, engine)
			o.check(t, nobody(address), true)
			o.ended(t, ended("failed:refused"), nil)
			if o.stats.Opened != 0 || o.stats.OpenFailed == 0 {
				t.Errorf("opened %d, failed to open %d: want none and some", o.stats.Opened, o.stats.OpenFailed)
			}
		})
	}
}

// nobody is a server that is not there.
type nobody string

func (n nobody) address() string      { return string(n) }
func (n nobody) seen(*testing.T) seen { return seen{} }
