package replica

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/cli"
	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/scheduler"
	"github.com/rowrun/rowrun/scheduler/dbexec"
)

func TestTargetsEngineIsTheURLs(t *testing.T) {
	t.Parallel()
	secret := filepath.Join(t.TempDir(), "url")
	require.NoError(t, os.WriteFile(secret, []byte("mysql://u:p@h/shop\n"), 0o600))
	c, err := parse(map[string]string{"DATABASE_URL": rowruntest.SomeURL, "SHOP": "mariadb://u:p@h/shop"}, "--config", rowruntest.ConfigFile(t, `
databases:
  keywords: {url: "host=h dbname=d"}
  environment: {url: "env:SHOP"}
  secret: {url: "file:`+secret+`"}
  path: {url: "sqlite:/var/lib/a.db"}
  said: {url: "file:/var/lib/a.db", engine: sqlite}
`))
	require.NoError(t, err)
	got := map[string]dbexec.Engine{}
	for name, target := range c.File.Databases {
		if got[name], err = target.Engine(); err != nil {
			require.NoError(t, err, name)
		}
	}
	require.Equal(t, map[string]dbexec.Engine{
		"keywords": dbexec.PostgreSQL, "environment": dbexec.MariaDB, "secret": dbexec.MySQL, "path": dbexec.SQLite, "said": dbexec.SQLite,
	}, got)

	for text, says := range map[string]string{
		"{url: 'mysql://u:hunter2@h'}":                      "databases.a: url names no database",
		"{url: 'postgres://u@h/d', engine: oracle}":         `databases.a.engine: engine "oracle" is not accepted`,
		"{url: 'postgres://u:hunter2@h/d', engine: sqlite}": "databases.a: url is not one of a SQLite database",
		"{url: 'sqlite::memory:'}":                          "of which nothing would be left",
	} {
		_, err := parse(map[string]string{"DATABASE_URL": rowruntest.SomeURL}, "--config", rowruntest.ConfigFile(t, "databases: {a: "+text+"}"))
		require.ErrorAs(t, err, new(*cli.UsageError), text)
		require.ErrorContains(t, err, says)
		require.NotContains(t, err.Error(), "hunter2")
	}
}

func TestTargetsRunsGoToTheExecutorOfTheirEngine(t *testing.T) {
	t.Parallel()
	named := func(name string) scheduler.Executor {
		return scheduler.ExecutorFunc(func(context.Context, *scheduler.Run) (scheduler.Result, error) {
			return scheduler.Result{}, errors.New(name)
		})
	}
	e := byEngine{postgresql: named("postgresql"), others: named("others"), named: &engineNames{}}
	e.named.names.Store(&map[string]bool{"shop": true})
	for database, want := range map[string]string{"shop": "others", "orders": "postgresql", "": "postgresql"} {
		_, err := e.Execute(t.Context(), &scheduler.Run{DatabaseID: database})
		require.EqualError(t, err, want)
	}
}
