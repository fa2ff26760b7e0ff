package stat

// EProcess is a sign test that may be looked at after every trial. While a
// trial is as likely to come out good as bad, given all that went before, the
// chance that Good or Bad ever reaches 1/alpha is at most alpha (Ville's
// inequality), whatever the noise. The zero value has seen no trial.
type EProcess struct {
	Good, Bad float64 // evidence so far; 0 stands for 1, no trial yet
	Trials    int
}

// stake is the share of the evidence that each trial puts at risk. At 0.6 seven
// unanimous trials reach 1/0.05.
const stake = 0.6

// Add counts one trial.
func (e *EProcess) Add(good bool) {
	if e.Trials == 0 {
		e.Good, e.Bad = 1, 1
	}
	e.Trials++
	if good {
		e.Good, e.Bad = e.Good*(1+stake), e.Bad*(1-stake)
	} else {
		e.Good, e.Bad = e.Good*(1-stake), e.Bad*(1+stake)
	}
}

// IsGood reports whether the trials are mostly good, wrong with a chance of at
// most alpha. IsBad is its mirror image.
func (e *EProcess) IsGood(alpha float64) bool { return e.Good >= 1/alpha }

// IsBad reports whether the trials are mostly bad, wrong with a chance of at
// most alpha.
func (e *EProcess) IsBad(alpha float64) bool { return e.Bad >= 1/alpha }
