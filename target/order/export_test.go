package order

// Flows returns how many flows o, which is fair, knows of, and how many it keeps for use again.
func Flows(o Order) (known, spare int) {
	s := &o.(*fair).flows
	for f := s.spare; f != nil; f = f.next {
		spare++
	}
	return len(s.byKey), spare
}

// MostResting is how many empty flows are remembered.
const MostResting = mostResting
