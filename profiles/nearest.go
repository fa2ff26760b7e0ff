package profiles

import "strings"

// Nearest returns the name that s is most likely a misspelling of, or "" when
// none is near: a third of its letters may differ, and at least one.
func Nearest(s string, names []string) string {
	best, nearest := max(len(s)/3, 1)+1, ""
	for _, n := range names {
		if d := editDistance(strings.ToLower(s), n); d < best {
			best, nearest = d, n
		}
	}
	return nearest
}

// didYouMean returns `; did you mean "x"?` for the name nearest to s, or ""
// when none is near.
func didYouMean(s string, names []string) string {
	nearest := Nearest(s, names)
	if nearest == "" {
		return ""
	}
	return "; did you mean " + quote(nearest) + "?"
}

// editDistance counts the letters to insert, delete, replace or swap with
// their neighbour to make a of b (optimal string alignment).
func editDistance(a, b string) int {
	s, t := []rune(a), []rune(b)
	before, last, row := make([]int, len(t)+1), make([]int, len(t)+1), make([]int, len(t)+1)
	for j := range last {
		last[j] = j
	}
	for i := range s {
		row[0] = i + 1
		for j := range t {
			replace := last[j]
			if s[i] != t[j] {
				replace++
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, replace)
			if i > 0 && j > 0 && s[i] == t[j-1] && s[i-1] == t[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last, row = last, row, before
	}
	return last[len(t)]
}
