// Package cases holds the generator to servers that misbehave, as tests: what
// hurt the users of other tools, over every engine.
//
// Names such as tgt-12 are those of a list of public bug reports that the cases
// stand for; each test names the reports. The servers are the cases of
// testdata/badserver.py, which count what really arrives, and small ones in Go
// for what has to run everywhere.
package cases

import (
	"flag"
	"io"
	"log"
	"os"
	"testing"
)

// atOnce is how many runs go on at the same time: they mostly wait.
const atOnce = "32"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		os.Exit(serveSilence())
	}
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		_ = flag.Set("test.parallel", atOnce)
	}
	log.SetOutput(io.Discard) // as knee does: net/http tells of what follows an answer
	code := m.Run()
	forks.stop()
	os.Exit(code)
}
