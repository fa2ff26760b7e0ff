package live

import "time"

// A breakage is what is known of an exchange over HTTP/1.1 that the other side
// broke off.
type breakage struct {
	reset    bool          // the connection was reset, not closed in order
	sent     int64         // bytes of the request that were sent
	uploaded bool          // the request was sent to its end
	started  bool          // bytes of an answer came
	head     bool          // the head of the answer was complete
	kept     bool          // the connection had rested since it was opened, or since an earlier request
	took     time.Duration // from the start of the exchange to its end
	connect  time.Duration // how long it took to open the connection
}

// kind names the failure.
func (b breakage) kind() string {
	switch {
	case b.head && b.reset:
		return ResetBody
	case b.head:
		return ShortBody
	case b.started && !b.uploaded: // an early answer that the reset overtook
		return ResetUpload
	case b.started && b.reset:
		return Reset
	case b.started:
		return ShortHead
	case b.kept && (b.sent == 0 || b.took <= max(race, 10*b.connect)):
		return ResetIdle
	case b.sent == 0:
		return ResetConnect
	case !b.uploaded:
		return ResetUpload
	case b.reset:
		return Reset
	}
	return EOF
}
