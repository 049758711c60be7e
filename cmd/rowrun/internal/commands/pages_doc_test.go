package commands

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pages are README, CHANGELOG and everything below docs, by their paths from the root; without is what is left out of their texts.
func pages(t *testing.T, without *regexp.Regexp) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		paths, err := filepath.Glob(root + pattern)
		require.NoError(t, err)
		require.NotEmpty(t, paths, pattern)
		for _, path := range paths {
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			name, err := filepath.Rel(root, path)
			require.NoError(t, err)
			found[name] = without.ReplaceAllString(string(text), "")
		}
	}
	return found
}

// testNames are the names of all tests of all modules of the tree.
func testNames(t *testing.T) (names []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && slices.Contains([]string{".git", "bin", "node_modules"}, entry.Name()) {
			return fs.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		text, err := os.ReadFile(path)
		for _, found := range regexp.MustCompile(`(?m)^func (Test\w+)\(`).FindAllStringSubmatch(string(text), -1) {
			names = append(names, found[1])
		}
		return err
	}))
	return names
}

// Who looks for the proof that a page names finds it: whole names in the text, beginnings of names behind -run and before an ellipsis.
func TestPagesNameTestsThatExist(t *testing.T) {
	t.Parallel()
	names := testNames(t)
	named := regexp.MustCompile(`\bTest[A-Z]\w*…?`)
	patterns := regexp.MustCompile(`-run ('[^']*'|\S+)`)
	for page, text := range pages(t, regexp.MustCompile(`^$`)) {
		begins := func(name string) {
			require.True(t, slices.ContainsFunc(names, func(test string) bool { return strings.HasPrefix(test, name) }), "%s names %s…, and no test begins so", page, name)
		}
		for _, pattern := range patterns.FindAllString(text, -1) {
			for _, name := range named.FindAllString(pattern, -1) {
				begins(name)
			}
		}
		for _, name := range named.FindAllString(patterns.ReplaceAllString(text, ""), -1) {
			if whole, more := strings.CutSuffix(name, "…"); more {
				begins(whole)
			} else {
				require.True(t, slices.Contains(names, name), "%s names %s, and there is no such test", page, name)
			}
		}
	}
}

// A link inside the tree leads to a file that exists, and to a heading of it.
func TestLinksOfThePagesLeadSomewhere(t *testing.T) {
	t.Parallel()
	all := pages(t, regexp.MustCompile("(?sm)^```.*?^```"))
	links := 0
	for page, text := range all {
		for _, link := range regexp.MustCompile(`\]\(([^)\s]+)\)`).FindAllStringSubmatch(text, -1) {
			if strings.Contains(link[1], "://") {
				continue
			}
			links++
			path, anchor, _ := strings.Cut(link[1], "#")
			to := page
			if path != "" {
				to = filepath.Join(filepath.Dir(page), path)
			}
			_, err := os.Stat(root + to)
			require.NoError(t, err, "%s: %s", page, link[1])
			if anchor != "" {
				require.Contains(t, anchors(all[to]), anchor, "%s: %s", page, link[1])
			}
		}
	}
	require.NotZero(t, links)
}

// anchors are the names by which the headings of a page are linked to.
func anchors(text string) (names []string) {
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		shown := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(heading[1], "$1")
		plain := regexp.MustCompile(`[^\p{L}\p{N}_\- ]`).ReplaceAllString(strings.ToLower(shown), "")
		names = append(names, strings.ReplaceAll(plain, " ", "-"))
	}
	return names
}
