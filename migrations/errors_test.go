package migrations_test

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/migrations"
	"github.com/rowrun/rowrun/store/storetest"
)

func TestErrorsSayWhatToDo(t *testing.T) {
	t.Parallel()
	base := storetest.Empty(t)
	conn := connect(t, base)
	weak := fmt.Sprintf("weak_%d", os.Getpid())
	run(t, conn, "CREATE ROLE "+weak+" LOGIN")
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		admin, err := pgx.Connect(ctx, storetest.Cluster(t).SocketURL("postgres"))
		require.NoError(t, err)
		_, err = admin.Exec(ctx, "DROP ROLE "+weak)
		require.NoError(t, err)
		require.NoError(t, admin.Close(ctx))
	})

	change := func(edit func(*url.URL)) string {
		u, err := url.Parse(base)
		require.NoError(t, err)
		edit(u)
		return u.String()
	}
	for _, test := range []struct{ name, url, want string }{
		{"no URL", "", "no database given"},
		{"not a URL", "postgres://u:hunter2@[", "not a connection string"},
		{"nobody listens", "postgres://someone:hunter2@127.0.0.1:1/x?sslmode=disable", "can't connect to the database: connect: connection refused"},
		{"unknown role", change(func(u *url.URL) { u.User = url.UserPassword("someone", "hunter2") }), "check the user and the password"},
		{"unknown database", change(func(u *url.URL) { u.Path = "/nowhere" }), "create the database first"},
		{"weak role", change(func(u *url.URL) { u.User = url.UserPassword(weak, "hunter2") }), "GRANT CREATE ON DATABASE"},
	} {
		_, err := migrations.Up(t.Context(), migrations.Config{URL: test.url})
		require.ErrorContains(t, err, test.want, test.name)
		require.NotContains(t, err.Error(), "hunter2", test.name)
		_, statusErr := migrations.ReadStatus(t.Context(), migrations.Config{URL: test.url})
		if test.name == "weak role" {
			require.NoError(t, statusErr, "nothing is there to be refused")
			var pg *pgconn.PgError
			require.ErrorAs(t, err, &pg)
			require.Equal(t, "42501", pg.Code)
			continue
		}
		require.ErrorContains(t, statusErr, test.want, test.name)
		require.NotContains(t, statusErr.Error(), "hunter2", test.name)
	}
}

func TestWrongPassword(t *testing.T) {
	t.Parallel()
	cluster := storetest.OwnCluster(t)
	hba := "local all all trust\nhost all all 127.0.0.1/32 scram-sha-256\n"
	require.NoError(t, os.WriteFile(filepath.Join(cluster.Dir(), "data", "pg_hba.conf"), []byte(hba), 0o600))
	require.NoError(t, cluster.Restart(t.Context()))
	wrong := fmt.Sprintf("postgres://postgres:hunter2@127.0.0.1:%d/postgres?sslmode=disable", cluster.Port())
	_, err := migrations.Up(t.Context(), migrations.Config{URL: wrong})
	require.ErrorContains(t, err, `password authentication failed for user "postgres" (SQLSTATE 28P01): check the user and the password`)
	require.NotContains(t, err.Error(), "hunter2")
}

func TestStandbyIsRefused(t *testing.T) {
	t.Parallel()
	cluster := storetest.OwnCluster(t)
	database := storetest.On(t, cluster)
	require.NoError(t, cluster.Halt(t.Context()))
	require.NoError(t, os.WriteFile(filepath.Join(cluster.Dir(), "data", "standby.signal"), nil, 0o644))
	require.NoError(t, cluster.Restart(t.Context()))

	config := migrations.Config{URL: database}
	_, err := migrations.Up(t.Context(), config)
	require.EqualError(t, err, "migrate up: the server is a standby: connect to the primary (target_session_attrs=read-write picks it)")
	_, err = migrations.Down(t.Context(), config, 1)
	require.ErrorContains(t, err, "the server is a standby")
	requireVersion(t, config, migrations.Version())
}
