// Package report writes the result of a run, one file per format.
package report

// Options say how a report for people looks.
type Options struct {
	Width int  // columns of the terminal; 0 is 80, what is narrower than 60 is treated as 60, what is wider than 120 as 120
	Color bool // use ANSI colours
}

const (
	minWidth = 60
	maxWidth = 120
)

func (o Options) width() int {
	if o.Width == 0 {
		return 80
	}
	return min(max(o.Width, minWidth), maxWidth)
}
