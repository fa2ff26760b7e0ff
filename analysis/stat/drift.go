package stat

import "math"

// leastBatches is how many increments a Drift needs.
const leastBatches = 4

// Drift returns how fast a level rises, per sample, with the interval in which the
// rate lies with the given confidence: the mean of its increments over batches of
// so many samples, and Student's t. A queue's length is a random walk, of which the
// increments are independent and the values are not: the interval that TheilSen
// gives for them is far too narrow. A batch outlasts what makes neighbours depend
// on one another, such as a retry that follows its original after a timeout.
//
// Samples that do not fill a batch are left out at the start. With fewer than four
// batches the interval is infinite; with less than one, Value is NaN.
//
// It panics unless batch > 0 and confidence is between 0 and 1.
func Drift(level []float64, batch int, confidence float64) Slope {
	if batch <= 0 || !(confidence > 0 && confidence < 1) {
		panic("stat: want a batch of at least 1 and a confidence between 0 and 1")
	}
	s := Slope{Value: math.NaN(), Low: math.Inf(-1), High: math.Inf(1)}
	n := (len(level) - 1) / batch
	if n < 1 {
		return s
	}
	level = level[len(level)-1-n*batch:]
	s.Value = (level[n*batch] - level[0]) / float64(n*batch)
	if n < leastBatches {
		return s
	}
	sum := 0.0
	for i := range n {
		d := (level[(i+1)*batch]-level[i*batch])/float64(batch) - s.Value
		sum += d * d
	}
	margin := studentsT((1+confidence)/2, n-1) * math.Sqrt(sum/float64(n-1)/float64(n))
	s.Low, s.High = s.Value-margin, s.Value+margin
	return s
}
