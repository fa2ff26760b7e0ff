package report

// color is an ANSI colour, or none.
type color string

const (
	plain  color = ""
	faint  color = "2"
	bold   color = "1"
	red    color = "31"
	green  color = "32"
	yellow color = "33"
)

// paint returns s in the colour c where colours are wanted. It is applied after
// alignment, because its bytes take no columns.
func (o Options) paint(c color, s string) string {
	if !o.Color || c == plain || s == "" {
		return s
	}
	return "\x1b[" + string(c) + "m" + s + "\x1b[0m"
}

// verdictColor is green for what is well, red for what is not, yellow for what
// is not known.
func verdictColor(verdict string) color {
	switch verdict {
	case "pass", "found", "plateau", "recovered", "ok":
		return green
	case "fail", "collapse", "no_goodput", "not_recovered", "metastable", "limited":
		return red
	case "":
		return plain
	}
	return yellow
}
