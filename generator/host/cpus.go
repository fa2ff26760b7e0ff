package host

import (
	"fmt"
	"strings"
)

// CPUs is a set of CPUs by their numbers, ascending.
type CPUs []int

// String returns the set as the kernel writes it: 0-2,5. It is "" for none.
func (c CPUs) String() string {
	var s strings.Builder
	for i := 0; i < len(c); {
		j := i
		for j+1 < len(c) && c[j+1] == c[j]+1 {
			j++
		}
		if s.Len() > 0 {
			s.WriteByte(',')
		}
		fmt.Fprintf(&s, "%d", c[i])
		if j > i {
			fmt.Fprintf(&s, "-%d", c[j])
		}
		i = j + 1
	}
	return s.String()
}

// parseCPUs reads what String writes.
func parseCPUs(text string) (CPUs, error) {
	var c CPUs
	for part := range strings.SplitSeq(strings.TrimSpace(text), ",") {
		var from, to int
		if n, _ := fmt.Sscanf(part, "%d-%d", &from, &to); n < 2 {
			if n, err := fmt.Sscanf(part, "%d", &from); n < 1 {
				return nil, fmt.Errorf("CPUs %q: %w", text, err)
			}
			to = from
		}
		for cpu := from; cpu <= to; cpu++ {
			c = append(c, cpu)
		}
	}
	return c, nil
}
