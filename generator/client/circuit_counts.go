package client

// BreakerCounts are what a Breaker counts in one generation.
type BreakerCounts struct {
	Requests             uint32
	Successes            uint32
	Failures             uint32
	Exclusions           uint32
	ConsecutiveSuccesses uint32
	ConsecutiveFailures  uint32
}

func (c *BreakerCounts) count(v BreakerVerdict) {
	switch v {
	case Succeeded:
		c.Successes++
		c.ConsecutiveSuccesses++
		c.ConsecutiveFailures = 0
	case Broke:
		c.Failures++
		c.ConsecutiveFailures++
		c.ConsecutiveSuccesses = 0
	default:
		c.Exclusions++
	}
}

// rollingCounts are the counts of the last buckets of time, the sum of all of
// them. Failures and successes in a row are those of the sum.
type rollingCounts struct {
	BreakerCounts
	age     uint64 // number of the bucket that is being filled, since the start of the generation
	buckets []BreakerCounts
}

// valid returns how many requests were not excluded.
func (r *rollingCounts) valid() uint32 { return less(r.Requests, r.Exclusions) }

func (r *rollingCounts) begin() {
	r.Requests++
	r.bucket(r.age).Requests++
}

// count counts the end of a request that began in the bucket of that age, unless
// it is forgotten.
func (r *rollingCounts) count(age uint64, v BreakerVerdict) {
	if r.age-age >= uint64(len(r.buckets)) {
		return
	}
	r.BreakerCounts.count(v)
	r.bucket(age).count(v)
}

func (r *rollingCounts) bucket(age uint64) *BreakerCounts {
	return &r.buckets[age%uint64(len(r.buckets))]
}

func (r *rollingCounts) clear() {
	r.BreakerCounts, r.age = BreakerCounts{}, 0
	clear(r.buckets)
}

// grow goes on to the bucket of that age.
func (r *rollingCounts) grow(age uint64) {
	if age <= r.age {
		return
	}
	if age-r.age >= uint64(len(r.buckets)) {
		r.clear()
		r.age = age
		return
	}
	for r.age < age {
		r.age++
		r.forget()
	}
}

// forget clears the oldest bucket, which is to be filled next. What is in a row
// gets shorter by it only when it reaches back that far.
func (r *rollingCounts) forget() {
	oldest := r.bucket(r.age)
	successes, failures := oldest.ConsecutiveSuccesses, oldest.ConsecutiveFailures
	for i := range r.buckets {
		if b := &r.buckets[i]; b != oldest {
			successes += b.Successes
			failures += b.Failures
		}
	}
	if r.ConsecutiveSuccesses == successes {
		r.ConsecutiveSuccesses = less(r.ConsecutiveSuccesses, oldest.ConsecutiveSuccesses)
	}
	if r.ConsecutiveFailures == failures {
		r.ConsecutiveFailures = less(r.ConsecutiveFailures, oldest.ConsecutiveFailures)
	}
	r.Requests = less(r.Requests, oldest.Requests)
	r.Successes = less(r.Successes, oldest.Successes)
	r.Failures = less(r.Failures, oldest.Failures)
	r.Exclusions = less(r.Exclusions, oldest.Exclusions)
	*oldest = BreakerCounts{}
}

// less returns a-b, at least 0.
func less(a, b uint32) uint32 { return a - min(a, b) }
