package stat

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

func TestStudentsT(t *testing.T) {
	for n := 1; n <= 60; n++ {
		for _, q := range []float64{0.6, 0.95, 0.975, 0.995, 0.9995} {
			want := distuv.StudentsT{Sigma: 1, Nu: float64(n)}.Quantile(q)
			if got := studentsT(q, n); math.Abs(got-want) > 1e-6*want {
				t.Errorf("quantile %v with %d degrees of freedom is %v, want %v", q, n, got, want)
			}
		}
	}
}
