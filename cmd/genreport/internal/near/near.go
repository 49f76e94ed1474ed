// Package near guesses which name was meant.
package near

import "strings"

// Best is the name that is most like what was given, or "" where none is like
// it: few letters differ, or one is a part of the other.
func Best(got string, have []string) string {
	best, least := "", 1+len(got)/3
	x := strings.ToLower(got)
	for _, h := range have {
		if d := distance(x, strings.ToLower(h)); d <= least {
			best, least = h, d-1
		}
	}
	if best != "" || len(x) < 3 {
		return best
	}
	for _, h := range have {
		if y := strings.ToLower(h); strings.Contains(y, x) || strings.Contains(x, y) {
			return h
		}
	}
	return ""
}

// distance is the Levenshtein distance in runes.
func distance(a, b string) int {
	x, y := []rune(a), []rune(b)
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j := range y {
			cost := diagonal
			if x[i] != y[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(y)]
}
