package store_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	rowLock  = regexp.MustCompile(`\bFOR (NO KEY UPDATE|UPDATE|KEY SHARE|SHARE)\b`)
	sqlNotes = regexp.MustCompile(`--[^\n]*`)
	// beforeOnce is what stands before parentheses that are executed once, or for each row on purpose (LATERAL); behindAlone is what
	// stands behind them where nothing is joined to them.
	beforeOnce  = regexp.MustCompile(`(\bMATERIALIZED|\bARRAY|\bIN|\bEXISTS|\bLATERAL|\bAND) *$`)
	behindAlone = regexp.MustCompile(`^ *(IS TRUE|\w* *(;|\)|\n *(IF|RETURN|LOOP|UNION)\b))`)
)

// A subquery in FROM is executed once for each row that a plan reads before, unless it is MATERIALIZED. One that locks doesn't see the same
// rows each time: what its statement has changed meanwhile it passes by, and goes beyond its LIMIT.
func TestWhatLocksRowsIsExecutedOnce(t *testing.T) {
	t.Parallel()
	found := 0
	for _, pattern := range []string{"sql/*.sql", "../migrations/code/*/*.sql"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			content, err := os.ReadFile(file)
			require.NoError(t, err)
			text := sqlNotes.ReplaceAllString(string(content), "")
			for _, at := range rowLock.FindAllStringIndex(text, -1) {
				found++
				before, after, inParentheses := enclosing(text, at[0])
				require.True(t, !inParentheses || beforeOnce.MatchString(before) || behindAlone.MatchString(after),
					"%s: …%s (… %s) %.40s", file, before[max(0, len(before)-40):], text[at[0]:at[1]], after)
			}
		}
	}
	require.Greater(t, found, 50)
	before, after, _ := enclosing(`UPDATE a FROM (SELECT b LIMIT 1 FOR UPDATE) x WHERE x.b = a.b`, 35)
	require.False(t, beforeOnce.MatchString(before) || behindAlone.MatchString(after), "as claim_run was")
}

// enclosing is what stands before and behind the innermost parentheses around a place.
func enclosing(text string, at int) (before, after string, found bool) {
	depth := 0
	for i := at - 1; i >= 0 && !found; i-- {
		switch text[i] {
		case ')':
			depth++
		case '(':
			depth--
			if depth < 0 {
				before, found = strings.TrimSpace(text[:i]), true
			}
		}
	}
	depth = 0
	for i := at; i < len(text); i++ {
		switch text[i] {
		case '(':
			depth++
		case ')':
			depth--
			if depth < 0 {
				return before, text[i+1:], found
			}
		}
	}
	return before, after, found
}
