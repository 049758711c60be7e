package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// Nearest is the word among some that was most likely meant, "" where none is near. Case doesn't matter; a letter too many, one
// too few, another one and two that changed places count as one mistake each, and one mistake in three letters is near.
func Nearest(word string, among []string) string {
	given := []rune(strings.ToLower(word))
	if len(given) > maxMeant {
		return ""
	}
	best, least := "", max(1, len(given)/3)+1
	for _, candidate := range among {
		meant := []rune(strings.ToLower(candidate))
		if len(meant) > maxMeant {
			continue
		}
		d := mistakes(given, meant)
		if d > 0 && len(given) >= 3 && strings.HasPrefix(string(meant), string(given)) {
			d = 1 // what was begun and not ended
		}
		if d < least {
			best, least = candidate, d
		}
	}
	return best
}

// nearestBehind is Nearest for words that all begin with the same, which says nothing about how near they are.
func nearestBehind(prefix, word string, among []string) string {
	rests := make([]string, len(among))
	for i, candidate := range among {
		rests[i] = strings.TrimPrefix(candidate, prefix)
	}
	if near := Nearest(strings.TrimPrefix(word, prefix), rests); near != "" {
		return prefix + near
	}
	return ""
}

// maxMeant is how long words are that are compared; longer ones nobody types.
const maxMeant = 100

// mistakes is the optimal string alignment distance: fifteen lines, for which no dependency is worth its place.
func mistakes(a, b []rune) int {
	var before []int
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i, r := range a {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j, s := range b {
			cost := 1
			if r == s {
				cost = 0
			}
			row[j+1] = min(last[j+1]+1, row[j]+1, last[j]+cost)
			if i > 0 && j > 0 && r == b[j-1] && a[i-1] == s {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

// DidYouMean ends a sentence about a word that isn't accepted with the one that was most likely meant, or with nothing.
func DidYouMean(word string, among []string) string {
	if near := Nearest(word, among); near != "" {
		return "; did you mean " + Printable(near) + "?"
	}
	return ""
}

// meantCommand is the command that was most likely meant by a word below cmd: one of its own, or one of that very name
// anywhere.
func meantCommand(cmd *cobra.Command, word string) string {
	var names, elsewhere []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, sub.Name())
		}
	}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			if sub.Name() == word && sub.IsAvailableCommand() {
				elsewhere = append(elsewhere, sub.CommandPath())
			}
			visit(sub)
		}
	}
	visit(cmd.Root())
	switch {
	case len(elsewhere) > 0:
		return "; did you mean " + strings.Join(elsewhere[:min(3, len(elsewhere))], " or ") + "?"
	default:
		return DidYouMean(word, names)
	}
}
