package plan

import (
	"hash/fnv"
	"math/rand/v2"
)

// stream returns the random stream of one purpose. Streams of different seeds
// or names are independent, so that a new purpose shifts no other.
func stream(seed uint64, name string) *rand.PCG {
	h := fnv.New64a()
	h.Write([]byte(name)) // never fails
	hi := mix(seed ^ h.Sum64())
	return rand.NewPCG(hi, mix(hi+seed))
}

// mix is the finaliser of SplitMix64 (Steele, Lea, Flood 2014): every bit of
// the result depends on every bit of x.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
