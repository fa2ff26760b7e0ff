package virtual

import (
	"bytes"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"knee/generator/record"
)

// Two runs of one profile emit the same Deltas, to the byte.
func TestDeterminism(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := drawProfile(t)
		first, second := p.journal(t), p.journal(t)
		if !bytes.Equal(first, second) {
			t.Fatalf("two runs differ:\n%s\n%s", first, second)
		}
	})
}

// journal runs p and writes down every Delta, with all that is in it.
func (p profile) journal(t *rapid.T) []byte {
	var b bytes.Buffer
	p.run(t, func(d *record.Delta) {
		fmt.Fprintf(&b, "%d %+v %+v\n", d.Window, d.Steps, d.Cells)
		for _, h := range d.Hists {
			fmt.Fprint(&b, h.Step, h.Class, h.Second)
			for _, of := range h.Of {
				if of != nil {
					for _, bar := range of.HDR().Distribution() {
						if bar.Count > 0 {
							fmt.Fprint(&b, " ", bar)
						}
					}
				}
				fmt.Fprintln(&b)
			}
		}
	})
	return b.Bytes()
}
