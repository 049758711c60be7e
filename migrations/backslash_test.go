package migrations

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Functions in texts are read with the settings of whoever calls them, to whom a backslash may be an escape in any '...'. In
// E'...' it is one to all of them.
func TestBackslashesStandInEscapingTextsOnly(t *testing.T) {
	t.Parallel()
	require.Empty(t, literalBackslashes(t, "", `SELECT E'\\.' || e'\'' -- '\s'`+"\n/* \\ */"))
	require.Equal(t, []string{`'\s'`, `'it''s \'`}, literalBackslashes(t, "", `SELECT '\s', $a$ BEGIN PERFORM E'\\', 'it''s \', 'E'; END $a$`))
	for _, dir := range []string{"code", filepath.Join("..", "store", "sql")} {
		require.NoError(t, filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(path) != ".sql" {
				return err
			}
			text, err := os.ReadFile(path)
			require.Empty(t, literalBackslashes(t, path, string(text)), "%s: write [.], [*], [[:space:]], or E'...'", path)
			return err
		}))
	}
}

// literalBackslashes are the texts '...' with a backslash in them, also of bodies.
func literalBackslashes(t *testing.T, path, text string) (found []string) {
	t.Helper()
	tokens, err := lex(path, text)
	require.NoError(t, err)
	for i, token := range tokens {
		switch {
		case token.kind != str || !strings.Contains(token.text, `\`):
		case token.text[0] == '$':
			tag := dollar(token.text)
			found = append(found, literalBackslashes(t, path, strings.TrimSuffix(strings.TrimPrefix(token.text, tag), tag))...)
		case i == 0 || !tokens[i-1].is("E") || tokens[i-1].at != token.at-1:
			found = append(found, token.text)
		}
	}
	return found
}
