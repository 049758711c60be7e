package store_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/migrations"
	"github.com/rowrun/rowrun/store/storetest"
)

// In Turkish the small letter of I has no dot, and the capital of i has one: words of Rowrun's own are read by no locale.
func TestOwnWordsAreReadInEveryLocale(t *testing.T) {
	t.Parallel()
	beside, err := url.Parse(storetest.Empty(t))
	require.NoError(t, err)
	conn := connect(t, beside.String())
	if !query[bool](t, conn, `SELECT current_setting('server_version_num')::int >= 150000 AND EXISTS (SELECT FROM pg_collation WHERE collname = 'tr-x-icu')`) {
		t.Skip("the server has no databases with locales of ICU")
	}
	beside.Path += "_tr"
	exec(t, conn, `CREATE DATABASE `+pgx.Identifier{strings.TrimPrefix(beside.Path, "/")}.Sanitize()+
		` TEMPLATE template0 ENCODING 'UTF8' LOCALE_PROVIDER icu ICU_LOCALE 'tr-TR' LC_COLLATE 'C' LC_CTYPE 'C'`)
	_, err = migrations.Up(t.Context(), migrations.Config{URL: beside.String()})
	require.NoError(t, err)
	conn = connect(t, beside.String())
	require.Equal(t, "\u0131", query[string](t, conn, `SELECT lower('I')`))
	for _, schedule := range []string{"0 9 * * MON-FRI", "0 9 * APR-DEC FRI", "@MIDNIGHT", "@DAILY"} {
		exec(t, conn, `INSERT INTO rowrun.task (type, schedule, time_zone) VALUES ('NOOP', $1, 'PACIFIC/FIJI')`, schedule)
		exec(t, conn, `INSERT INTO rowrun.task (type, schedule, time_zone) VALUES ('NOOP', $1, 'SINGAPORE')`, schedule)
	}
	plan := query[int64](t, conn, `INSERT INTO rowrun.plan (name) VALUES ('p') RETURNING id`)
	_, err = conn.Exec(t.Context(), `SELECT rowrun.do_act('give_up', 'plan', $1::bigint::text, '{}')`, plan)
	require.NotContains(t, err.Error(), "G\u0130VE", "%v", err)
	require.ErrorContains(t, err, "wave")
}
