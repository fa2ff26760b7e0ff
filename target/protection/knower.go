package protection

// A Knower is a Protection whose Admit decides by what a request says of
// itself, such as its deadline. A server that sheds before it has read the
// request cannot have it.
type Knower interface {
	Protection
	// Needs names what Admit has to know, such as "the deadline"; "" when, with
	// the knobs it has, the protection needs nothing.
	Needs() string
}

func (d *deadline) Needs() string { return "the deadline" }
