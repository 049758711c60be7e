package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// A client to whom a backslash is an escape in every text has the same schedules, versions, URLs and filters as others.
func TestClientsWhoseTextsEscapeAreUnderstood(t *testing.T) {
	t.Parallel()
	conn := connect(t, storetest.New(t))
	exec(t, conn, `SET standard_conforming_strings = off`)
	exec(t, conn, `SET escape_string_warning = on`)
	for _, schedule := range []string{"*/5 * * * *", "0  12 *\t* mon-fri", "@every 1h30m", "@every 1.5s", "@after  10m", "@every 20000\u00b5s"} {
		exec(t, conn, `INSERT INTO rowrun.task (type, schedule) VALUES ('NOOP', $1)`, schedule)
	}
	for _, schedule := range []string{"s * * * *", "@every 1x5s", "@everys10m", "/5 * * * *"} {
		_, err := conn.Exec(t.Context(), `INSERT INTO rowrun.task (type, schedule) VALUES ('NOOP', $1)`, schedule)
		require.ErrorContains(t, err, "RR003", schedule)
	}
	exec(t, conn, `INSERT INTO rowrun.task (type, database_id, version, name) VALUES ('NOOP', 'd', '1.2.3', 'two words')`)
	_, err := conn.Exec(t.Context(), `INSERT INTO rowrun.task (type, database_id, version) VALUES ('NOOP', 'd', '1x2')`)
	require.Error(t, err)
	require.Len(t, query[[]int64](t, conn, `SELECT ids FROM rowrun.find_tasks('{"q": "words 1.2"}', true, 0, 1000, 10, 10)`), 1)
	exec(t, conn, `INSERT INTO rowrun.webhook (url) VALUES ('https://chat.example/hooks/1')`)
	_, err = conn.Exec(t.Context(), `INSERT INTO rowrun.webhook (url) VALUES ($1)`, `https://chat.example\@inner/`)
	require.Error(t, err)
}
