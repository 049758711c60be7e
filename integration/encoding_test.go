package integration_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// inEncoding makes an empty database, whose sessions speak LATIN1 unless they ask for something else, and returns its URL.
func inEncoding(t *testing.T, encoding string) string {
	t.Helper()
	beside, err := url.Parse(storetest.Empty(t))
	require.NoError(t, err)
	conn, err := pgx.Connect(t.Context(), beside.String())
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.Close(t.Context())) }()
	beside.Path += "_" + strings.ToLower(encoding)
	name := pgx.Identifier{strings.TrimPrefix(beside.Path, "/")}.Sanitize()
	_, err = conn.Exec(t.Context(), "CREATE DATABASE "+name+" TEMPLATE template0 ENCODING '"+encoding+"' LC_COLLATE 'C' LC_CTYPE 'C'")
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "ALTER DATABASE "+name+" SET client_encoding = 'LATIN1'")
	require.NoError(t, err)
	return beside.String()
}

// inUTF8 is a user who speaks UTF-8 with such a database.
func inUTF8(t *testing.T, address string) *database {
	t.Helper()
	config, err := pgxpool.ParseConfig(address)
	require.NoError(t, err)
	config.ConnConfig.RuntimeParams["client_encoding"] = "UTF8"
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return &database{url: address, pool: pool}
}

// Rowrun's own database and its targets in whatever encoding: text comes over as it is, and what can't be told or held is
// that one run's affair.
func TestDatabasesInEveryEncoding(t *testing.T) {
	t.Parallel()
	for _, encoding := range []string{"UTF8", "SQL_ASCII", "LATIN1", "WIN1252", "EUC_JP"} {
		t.Run(encoding, func(t *testing.T) {
			t.Parallel()
			own := inEncoding(t, encoding)
			code, out := rowrun(t, []string{"DATABASE_URL=" + own}, "migrate", "up")
			require.Zero(t, code, out)
			targets := map[string]*database{}
			config := "databases:\n"
			for _, target := range []string{"UTF8", "LATIN1", "EUC_JP", "SQL_ASCII"} {
				targets[target] = inUTF8(t, inEncoding(t, target))
				targets[target].exec(t, "CREATE TABLE said (x text)")
				config += fmt.Sprintf("  %s: {url: '%s'}\n", target, targets[target].url)
			}
			path := filepath.Join(t.TempDir(), "rowrun.yaml")
			require.NoError(t, os.WriteFile(path, []byte(config), 0o600))
			d := inUTF8(t, own)
			replica := serve(t, own, []string{"--config", path, "--sweep-interval", "1s"})
			sql := func(target, kind, version, text string) int64 {
				more := columns{"database_id": target}
				if version != "" {
					more["version"] = version
				}
				return d.run(t, ask[int64](t, d, `INSERT INTO rowrun.task (type, payload, database_id, version)
					VALUES ($1, jsonb_build_object('sql', $2::text), $3, nullif($4, '')) RETURNING id`, kind, text, target, version))
			}

			// What a target says is Japanese, whatever Rowrun's database can hold.
			says := sql("UTF8", "SQL", "", `DO $$ BEGIN RAISE NOTICE '%', 'caf' || chr(233) || chr(26085);
				RAISE EXCEPTION '%', 'caf' || chr(233) || chr(26085); END $$`)
			detail := d.await(t, says, "FAILED").Detail
			held := map[string]string{"LATIN1": `café\u{65e5}`, "WIN1252": `café\u{65e5}`}[encoding]
			if held == "" {
				held = "café日"
			}
			require.Contains(t, detail, held)
			require.Equal(t, []string{held}, list[string](t, d,
				"SELECT detail ->> 'message' FROM rowrun.task_run_log WHERE task_run_id = $1 AND type = 'notice'", says))

			// What Rowrun's database holds arrives in the target.
			migrated := sql("LATIN1", "DATABASE_MIGRATE", "1", "INSERT INTO said VALUES ('café')")
			d.await(t, migrated, "DONE")
			require.Equal(t, []string{"636166e9"}, list[string](t, targets["LATIN1"], "SELECT encode(convert_to(x, 'LATIN1'), 'hex') FROM said"))
			switch encoding {
			case "LATIN1", "WIN1252":
				d.refused(t, "22P05", "INSERT INTO rowrun.task (type, name) VALUES ('NOOP', '日本')")
			default:
				d.await(t, sql("EUC_JP", "DATABASE_MIGRATE", "1", "INSERT INTO said VALUES ('日本')"), "DONE")
				require.Equal(t, []string{"日本"}, list[string](t, targets["EUC_JP"], "SELECT x FROM said"))
				lost := d.await(t, sql("LATIN1", "DATABASE_MIGRATE", "2", "INSERT INTO said VALUES ('日本')"), "FAILED")
				require.Equal(t, "22P05", lost.Code)
				require.Equal(t, 1, ask[int](t, targets["LATIN1"], "SELECT count(*)::int FROM said"))
				d.await(t, d.job(t, "NOOP", `{"fail": "日本"}`, columns{"name": "日本"}), "FAILED")
			}

			// Bytes that are no text.
			switch encoding {
			case "SQL_ASCII":
				broken := d.run(t, ask[int64](t, d, `INSERT INTO rowrun.task (type, name, payload, database_id) VALUES ('SQL', convert_from('\x636166e9', 'SQL_ASCII'),
					jsonb_build_object('sql', 'INSERT INTO said VALUES (''caf' || convert_from('\xe9', 'SQL_ASCII') || ''')'), 'UTF8') RETURNING id`))
				ended := d.await(t, broken, "FAILED")
				require.Equal(t, "BAD_INPUT", ended.Code)
				require.Contains(t, ended.Detail, "not UTF-8")
				require.Zero(t, ask[int](t, targets["UTF8"], "SELECT count(*)::int FROM said"))
			case "WIN1252":
				d.refused(t, "22P05", "INSERT INTO rowrun.task (type, name) VALUES ('NOOP', chr(129))")
				d.refused(t, "22P05", "UPDATE rowrun.task SET payload = jsonb_build_object('a', chr(129))")
			case "EUC_JP":
				d.refused(t, "22P05", `INSERT INTO rowrun.task (type, name) VALUES ('NOOP', convert_from('\xa9a1', 'EUC_JP'))`)
			}
			d.await(t, d.job(t, "NOOP", "{}", nil), "DONE")

			for _, args := range [][]string{
				{"stream", "--since", "10m", "--until-idle"},
				{"run", "list"},
				{"run", "show", fmt.Sprint(says)},
				{"task", "list", "-o", "json"},
				{"migrate", "status"},
			} {
				code, out := rowrun(t, []string{"DATABASE_URL=" + own}, args...)
				require.Zero(t, code, "%v: %s", args, out)
			}
			_, out = rowrun(t, []string{"DATABASE_URL=" + own}, "doctor")
			require.NotContains(t, out, "could not be looked at")
			require.NotContains(t, replica.log.text(), "22P05")
			require.NotContains(t, replica.log.text(), "22021")
		})
	}
}
