package commands

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
)

func TestPlanApplyToMakesTheTasksOfEachTargetThatMatches(t *testing.T) {
	t.Parallel()
	s, url := newShell(t)
	conn := rowruntest.Connect(t, url)
	rowruntest.Change(t, conn, "CREATE TABLE public.tenant (name text, env text, gone boolean)")
	rowruntest.Change(t, conn, "INSERT INTO public.tenant VALUES ('t1', 'prod', false), ('t2', 'prod', false), ('t3', 'test', false), ('t4', 'prod', true)")
	config := rowruntest.ConfigFile(t, `
databases:
  one: {url: "postgres://u@h/d", labels: {env: prod}}
databases_from:
  - query: SELECT name, env FROM public.tenant WHERE NOT gone
    url: '`+url+`'
    target: postgres://u@h/d?search_path={name}
    labels: {kind: tenant}
`)
	f := newMigrations(t)
	f.write("V1__a.sql", "SELECT 1")
	f.write("V2__b.sql", "SELECT 2")

	table, _ := s.does("plan", "apply", f.dir, "--to", "env=prod,kind", "--config", config, "--dry-run")
	require.Equal(t, 4, strings.Count(table, "make "), table)
	for _, name := range []string{"t1/V1__a.sql", "t1/V2__b.sql", "t2/V1__a.sql", "t2/V2__b.sql"} {
		require.Contains(t, table, name)
	}
	_, said := s.does("plan", "apply", f.dir, "--to", "env=prod", "--config", config)
	require.Contains(t, said, "6 new")
	_, said = s.does("plan", "apply", f.dir, "--to", "name=t*", "--config", config)
	require.Contains(t, said, "2 new, 0 changed, 4 as they were")

	for _, refused := range [][]string{
		{"--to", "env=nowhere", "--config", config},
		{"--to", "env=prod"},
		{"--to", "env=prod", "--config", config, "--database", "one"},
		{"--to", "=x", "--config", config},
		{"--to", "env=prod", "--config", config, "--wave", "env=test"},
		{"--wave", "1"},
	} {
		r := rowrun(t.Context(), t, map[string]string{"DATABASE_URL": url}, append([]string{"plan", "apply", f.dir}, refused...)...)
		require.Equal(t, 2, r.Code, r.Stderr)
	}
}
