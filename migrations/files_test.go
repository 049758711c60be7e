package migrations_test

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/migrations"
)

// Each step leaves its transaction to the one query that it is sent as, and its record to who sends it.
func TestEmbeddedStepsAreNumberedAndLeaveTheBooksAlone(t *testing.T) {
	t.Parallel()
	entries, err := fs.ReadDir(migrations.Embedded(), "tables")
	require.NoError(t, err)
	name := regexp.MustCompile(`^(\d{4})_[a-z0-9_]+\.(up|down)\.sql$`)
	transaction := regexp.MustCompile(`(?im)^\s*(BEGIN|START TRANSACTION|COMMIT|END|ROLLBACK)\s*;`)
	seen := map[string]int{}
	for _, entry := range entries {
		data, err := fs.ReadFile(migrations.Embedded(), "tables/"+entry.Name())
		require.NoError(t, err)
		match := name.FindStringSubmatch(entry.Name())
		require.NotNil(t, match, entry.Name())
		seen[match[2]]++
		require.NotRegexp(t, transaction, withoutBodies(string(data)), entry.Name())
		require.NotRegexp(t, `(?i)(INSERT INTO|DELETE FROM|UPDATE) rowrun\.(migration|code_\w+|schema_object)\b`, string(data), entry.Name())
	}
	require.Equal(t, migrations.Version(), seen["up"], "numbers have no gaps")
	require.Equal(t, seen["up"], seen["down"], "each up has a down")
	require.NotZero(t, seen["up"])
}

// withoutBodies cuts dollar-quoted bodies out, whose BEGIN and END are PL/pgSQL's.
func withoutBodies(sql string) string {
	var b strings.Builder
	sql = regexp.MustCompile(`(?s)\nBEGIN ATOMIC\n.*?\nEND;`).ReplaceAllString(sql, ";")
	quote := regexp.MustCompile(`\$[a-z_]*\$`)
	for {
		open := quote.FindStringIndex(sql)
		if open == nil {
			b.WriteString(sql)
			return b.String()
		}
		b.WriteString(sql[:open[0]])
		tag := sql[open[0]:open[1]]
		_, rest, _ := strings.Cut(sql[open[1]:], tag)
		sql = rest
	}
}

func TestPlainSQLKeepsTheSameBooks(t *testing.T) {
	t.Parallel()
	sql, err := migrations.SQL(0)
	require.NoError(t, err)
	url, conn := fresh(t)
	_, err = conn.PgConn().Exec(t.Context(), sql).ReadAll()
	require.NoError(t, err)
	byHand := objects(t, conn)

	config := migrations.Config{URL: url}
	status, err := migrations.ReadStatus(t.Context(), config)
	require.NoError(t, err)
	require.True(t, status.Current())
	require.Equal(t, migrations.Version(), status.Version)
	require.Len(t, status.Applied, migrations.Version())
	log := &buffer{}
	config.Log = logTo(log)
	applied, err := migrations.Up(t.Context(), config)
	require.NoError(t, err)
	require.Zero(t, applied)
	require.False(t, log.has("code applied"))

	other, otherConn := fresh(t)
	_, err = migrations.Up(t.Context(), migrations.Config{URL: other})
	require.NoError(t, err)
	require.Equal(t, objects(t, otherConn), byHand)

	last, err := migrations.SQL(migrations.Version())
	require.NoError(t, err)
	require.NotContains(t, last, "CREATE TABLE rowrun.plan")
	_, err = migrations.SQL(999)
	require.ErrorContains(t, err, "there is no migration 999")
}
