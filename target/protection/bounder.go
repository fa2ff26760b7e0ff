package protection

// A Bounder is a Protection that bounds the queue: what it refuses, an order
// may let in by pushing out a request that waits. The core then asks Admit a
// second time, with the load as it would be without that request, so a Bounder
// decides by r and l alone.
type Bounder interface {
	Protection
	Bounds()
}
