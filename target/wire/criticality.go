package wire

// criticalities are the levels of target/protection, who is shed first at the front.
var criticalities = [...]string{"sheddable", "sheddable_plus", "critical", "critical_plus"}

// CriticalityName returns the name of a level from 0 (shed first) to 3, and ""
// for any other.
func CriticalityName(level int) string {
	if level < 0 || level >= len(criticalities) {
		return ""
	}
	return criticalities[level]
}

// ParseCriticality returns the level that CriticalityName names so.
func ParseCriticality(name string) (level int, ok bool) {
	for i, n := range criticalities {
		if n == name {
			return i, true
		}
	}
	return 0, false
}
