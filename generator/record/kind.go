package record

// kindNames are the names of the endings, as in files and reports.
var kindNames = [kinds]string{"good", "late", "rejected", "timeout", "failed", "withheld", "unsent", "unfinished"}

// String returns the name of k: good, late, rejected, timeout, failed, withheld,
// unsent or unfinished.
func (k Kind) String() string {
	if k >= kinds {
		return "unknown"
	}
	return kindNames[k]
}

// kindNamed is the inverse of String.
func kindNamed(name string) (Kind, bool) {
	for k, n := range kindNames {
		if n == name {
			return Kind(k), true
		}
	}
	return 0, false
}

// of returns the counter of the originals that ended as k.
func (c *Counts) of(k Kind) *uint64 {
	switch k {
	case Good:
		return &c.Good
	case Late:
		return &c.Late
	case Rejected:
		return &c.Rejected
	case Timeout:
		return &c.Timeout
	case Failed:
		return &c.Failed
	case Withheld:
		return &c.Withheld
	case Unsent:
		return &c.Unsent
	default:
		return &c.Unfinished
	}
}
