package migrations

import (
	"fmt"
	"io/fs"
	"strings"

	pinned "github.com/rowrun/rowrun/store/session"
)

// The first lines are for whoever's session it is applied in: the text is UTF-8, names are the server's own, and the rest is
// read as in sessions of ours.
const bookkeeping = `SET client_encoding = 'UTF8';
` + pinned.SetUp + `;
` + spelling + `;
CREATE SCHEMA IF NOT EXISTS rowrun;
CREATE TABLE IF NOT EXISTS rowrun.schema_migrations (version bigint NOT NULL PRIMARY KEY, dirty boolean NOT NULL);
`

// SQL is the text of the embedded table steps after version from (0: all), and of all code, for people who apply it by
// hand, say with psql -v ON_ERROR_STOP=1. It keeps the same books, so that Up goes on from there. Where an older version's
// function can't be replaced, as it has another result, PostgreSQL says so: Up drops it before, with what depends on it.
func SQL(from int) (string, error) { return plain(embedded, from) }

func plain(fsys fs.FS, from int) (string, error) {
	files, err := readFiles(fsys)
	if err != nil {
		return "", err
	}
	if from != 0 && !files.has(from) {
		return "", files.unknown(from)
	}
	var b strings.Builder
	b.WriteString(bookkeeping)
	for _, f := range files.after(from) {
		fmt.Fprintf(&b, "\n-- table step %d: %s\nBEGIN;\nSET LOCAL lock_timeout = '%sms';\n%s\n%s", f.version, f.name, milliseconds(lockTimeout), strings.TrimSpace(f.up), f.record())
		fmt.Fprintf(&b, "DELETE FROM rowrun.schema_migrations;\nINSERT INTO rowrun.schema_migrations (version, dirty) VALUES (%d, false);\nCOMMIT;\n", f.version)
	}
	if files.code != nil {
		fmt.Fprintf(&b, "\n-- code of release %d: %s\nBEGIN;\nSET LOCAL lock_timeout = '%sms';\n%s%s;\nCOMMIT;\n", files.code.release, files.code.hash(), milliseconds(codeLockTimeout),
			files.code.replacement(), placeSQL)
	}
	return b.String(), nil
}
