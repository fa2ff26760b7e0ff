package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What the peers print, cut to what the parsers look at and what could mislead
// them.
const (
	wrkGood = `Running 1s test @ http://127.0.0.1:18099/
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency   849.67us  260.21us   4.83ms   93.95%
    Req/Sec    57.21k     2.27k   59.03k    90.00%
  56868 requests in 1.00s, 8.08MB read
Requests/sec:  56709.50
`
	wrkBad = `Running 2s test @ http://127.0.0.1:18098/
  1 threads and 4 connections
    Req/Sec    31.35k     7.92k   39.27k    68.75%
  49861 requests in 2.10s, 7.50MB read
  Socket errors: connect 0, read 2, write 7004, timeout 0
  Non-2xx or 3xx responses: 14998
Requests/sec:  23736.03
`
	h2loadBad = `Main benchmark duration is over for thread #0. Stopping all clients.

finished in 1.00s, 35900.00 req/s, 5.35MB/s
requests: 35900 total, 35904 started, 35900 done, 24984 succeeded, 10916 failed, 0 errored, 0 timeout
status codes: 24984 2xx, 0 3xx, 0 4xx, 10916 5xx
traffic: 5.35MB (5609024) total, 3.70MB (3875636) headers (space savings 0.00%), 70.12KB (71804) data
`
	bombardierBad = `{"spec":{"numberOfConnections":4,"testType":"timed"},"result":{"bytesRead":3572261,"timeTakenSeconds":1.0,"req1xx":0,"req2xx":15933,"req3xx":0,"req4xx":0,"req5xx":6738,"others":3,"errors":[{"description":"dial tcp","count":3}],"rps":{"mean":22671.5}}}`
	fortioBad     = `{"RunType":"HTTP","ActualQPS":13045.1,"DurationHistogram":{"Count":13049},"RetCodes":{"-1":4,"200":9109,"503":3936}}`
	vegetaBad     = `{"latencies":{"total":2835111194},"requests":8109,"rate":8111.6,"success":0.7,"status_codes":{"0":20,"200":5680,"503":2429},"errors":["503 Service Temporarily Unavailable"]}`
	heyBad        = `
Response time histogram:
  0.000 [1]	|
  0.009 [9289]	|■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■■

Status code distribution:
  [200]	6910 responses
  [503]	2929 responses

Error distribution:
  [2274]	Get "http://127.0.0.1:18098/": dial tcp 127.0.0.1:18098: connect: connection refused
`
	k6Bad  = `{"metrics":{"http_reqs":{"type":"counter","values":{"rate":7016.9,"count":7057}},"http_req_failed":{"type":"rate","values":{"passes":2072,"fails":4985,"rate":0.29}},"vus":{"type":"gauge","values":{"value":64}}}}`
	ohaBad = `{"summary":{"successRate":1.0,"total":1.0,"requestsPerSec":5000.5},"statusCodeDistribution":{"200":4000,"503":1000},"errorDistribution":{"aborted due to deadline":64,"connection error":7}}`
)

func TestParsersOfPeers(t *testing.T) {
	for name, test := range map[string]struct {
		peer tool
		out  string
		want tally
	}{
		"wrk":                 {wrk, wrkGood, tally{Requests: 56868}},
		"wrk with failures":   {wrk, wrkBad, tally{Requests: 49861, Failed: 14998 + 2 + 7004}},
		"wrk2":                {wrk2, wrkGood, tally{Requests: 56868}},
		"h2load":              {h2load, h2loadBad, tally{Requests: 35900, Failed: 10916}},
		"bombardier":          {bombardier, bombardierBad, tally{Requests: 15933 + 6738 + 3, Failed: 6738 + 3}},
		"fortio":              {fortio, fortioBad, tally{Requests: 13049, Failed: 3940}},
		"vegeta":              {vegeta, vegetaBad, tally{Requests: 8129, Failed: 2449}},
		"hey":                 {hey, heyBad, tally{Requests: 9839, Failed: 2929 + 2274}},
		"k6":                  {k6, k6Bad, tally{Requests: 7057, Failed: 2072}},
		"oha":                 {oha, ohaBad, tally{Requests: 5000, Failed: 1007}},
		"knee, a closed loop": {closedTool("", "", ""), `{"Requests":12,"Failed":1}`, tally{Requests: 12, Failed: 1}},
		"knee": {
			variant{}.tool(""), `{"steps":[{"counts":{"planned":100,"sent":90,"good":80}},{"counts":{"planned":10,"sent":10,"good":10}}]}`,
			tally{Requests: 110, Failed: 20},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := test.peer.parse([]byte(test.out))
			if err != nil || got != test.want {
				t.Errorf("%+v, %v: want %+v", got, err, test.want)
			}
		})
	}
}

// What holds no count is an error, never a count of 0.
func TestParsersWantACount(t *testing.T) {
	all := append(peers(), variant{label: "knee"}.tool(""))
	for _, p := range all {
		for _, out := range []string{"", "{}", "unable to connect to 127.0.0.1:1 Connection refused"} {
			if got, err := p.parse([]byte(out)); err == nil {
				t.Errorf("%s of %q: %+v: want an error", p.name, out, got)
			}
		}
	}
}

// The arguments of every peer say where to, over how many connections, for how
// long, and in an open loop at which rate.
func TestCommandsOfPeers(t *testing.T) {
	closed := map[string]string{
		"wrk":        "-t1 -c 64 -d 4s URL",
		"wrk2":       "-t1 -c 64 -d 4s -R 200000 URL",
		"h2load":     "--h1 -t1 -c 64 -D 4 URL",
		"bombardier": "-c 64 -d 4s -o json -p r URL",
		"fortio":     "load -quiet -json - -c 64 -t 4s -qps 0 URL",
		"vegeta":     "attack -rate 0 -duration 4s -output DIR/vegeta.bin -workers 64 -max-workers 64 -connections 64",
		"hey":        "-c 64 -z 4s URL",
		"k6":         "run --quiet DIR/k6.js",
		"oha":        "--no-tui --output-format json -c 64 -z 4s URL",
	}
	open := map[string]string{
		"wrk2":       "-t1 -c 64 -d 4s -R 5000 URL",
		"h2load":     "--h1 -t1 -c 64 -D 4 --rps=78.125 URL",
		"bombardier": "-c 64 -d 4s -o json -p r --rate 5000 URL",
		"fortio":     "load -quiet -json - -c 64 -t 4s -qps 5000 -uniform URL",
		"vegeta":     "attack -rate 5000 -duration 4s -output DIR/vegeta.bin -workers 64 -max-workers 64 -connections 64",
		"hey":        "-c 64 -z 4s -q 78.125 URL",
		"k6":         "run --quiet DIR/k6.js",
		"oha":        "--no-tui --output-format json -c 64 -z 4s -q 5000 URL",
	}
	j := job{url: "http://127.0.0.1:1/", conns: 64, span: 4 * time.Second, dir: t.TempDir()}
	got := func(j job, of func(tool) func(job) (command, error)) map[string]string {
		lines := map[string]string{}
		for _, p := range peers() {
			f := of(p)
			if f == nil {
				continue
			}
			c, err := f(j)
			if err != nil {
				t.Fatal(err)
			}
			line := strings.ReplaceAll(strings.Join(c.args, " "), j.url, "URL")
			lines[p.name] = filepath.ToSlash(strings.ReplaceAll(line, j.dir, "DIR"))
		}
		return lines
	}
	if d := cmp.Diff(closed, got(j, func(p tool) func(job) (command, error) { return p.closed })); d != "" {
		t.Errorf("closed loops (-want +got):\n%s", d)
	}
	script := func() string {
		text, err := os.ReadFile(filepath.Join(j.dir, "k6.js"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	if s := script(); !strings.Contains(s, `{"duration":"4s","executor":"constant-vus","gracefulStop":"1s","vus":64}`) || !strings.Contains(s, `http.get("http://127.0.0.1:1/")`) {
		t.Errorf("the script of a closed loop of k6: %s", s)
	}
	j.rate = 5000
	if d := cmp.Diff(open, got(j, func(p tool) func(job) (command, error) { return p.open })); d != "" {
		t.Errorf("open loops (-want +got):\n%s", d)
	}
	if s := script(); !strings.Contains(s, `"executor":"constant-arrival-rate"`) || !strings.Contains(s, `"rate":5000,"timeUnit":"1s"`) {
		t.Errorf("the script of an open loop of k6: %s", s)
	}
}

func TestPeersAreLookedForOnPath(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	found, absent, err := present(nil)
	if err != nil || len(found) > 0 || !slices.Equal(absent, namesOf(peers())) {
		t.Errorf("found %v, absent %v, %v: want all of them absent", namesOf(found), absent, err)
	}
	if _, absent, err = present([]string{"hey"}); err != nil || !slices.Equal(absent, []string{"hey"}) {
		t.Errorf("absent %v, %v: want only what is asked for", absent, err)
	}
	if _, _, err = present([]string{"ab"}); err == nil || !strings.Contains(err.Error(), `peer "ab": want some of wrk `) {
		t.Errorf("%v: want an error that names the peers", err)
	}
}
