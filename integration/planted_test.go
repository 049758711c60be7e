package integration_test

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

// plantIn makes, as a role without rights, what fits statements better than the built-in functions and operators do: for
// everything polymorphic and for every pair of types that has no operator of its own. Whatever runs of it draws from a
// sequence, which no rollback undoes.
const plantIn = `DO $do$
DECLARE
    types text[] := '{bigint,integer,smallint,text,name,boolean,jsonb,timestamptz,interval,uuid,"double precision",bigint[],text[],bytea}';
    place text := %[1]s;
    t text; u text; f record;
    body text := ' LANGUAGE plpgsql AS $f$ BEGIN PERFORM pg_catalog.nextval(''public.recorded''); RETURN NULL; END $f$';
BEGIN
    FOR f IN
        SELECT DISTINCT p.proname, p.pronargs FROM pg_proc p
        WHERE p.pronamespace = 'pg_catalog'::regnamespace AND p.prokind = 'f' AND p.pronargs BETWEEN 1 AND 3
          AND p.proargtypes::oid[] && '{anyelement,anyarray,anynonarray,"\"any\"",anycompatible,anycompatiblearray}'::regtype[]::oid[]
          AND p.prorettype <> 'trigger'::regtype
    LOOP
        FOREACH t IN ARRAY types LOOP
            EXECUTE format('CREATE FUNCTION %%I.%%I(%%s) RETURNS text', place, f.proname, array_to_string(array_fill(t, ARRAY[f.pronargs::int]), ', ')) || body;
        END LOOP;
    END LOOP;
    FOREACH t IN ARRAY types LOOP
        EXECUTE format('CREATE FUNCTION %%I.planted_step(bigint, %%s) RETURNS bigint', place, t) || body;
        FOREACH u IN ARRAY '{count,array_agg,json_agg,jsonb_agg}'::text[] LOOP
            EXECUTE format('CREATE AGGREGATE %%1$I.%%2$I(%%3$s) (sfunc = %%1$I.planted_step, stype = bigint, initcond = ''0'')', place, u, t);
        END LOOP;
        FOREACH u IN ARRAY types LOOP
            EXECUTE format('CREATE FUNCTION %%I.planted(%%s, %%s) RETURNS boolean', place, t, u) || body;
            FOR f IN
                SELECT o FROM unnest('{=,<>,<,>,<=,>=,||,+,-,*,/,->,->>,?,@>,&&,&,|,>>,<<,~,%%}'::text[]) o
                WHERE NOT EXISTS (SELECT FROM pg_operator x WHERE x.oprnamespace = 'pg_catalog'::regnamespace AND x.oprname = o
                                  AND x.oprleft = t::regtype AND x.oprright = u::regtype)
            LOOP
                EXECUTE format('CREATE OPERATOR %%1$I.%%2$s (leftarg = %%3$s, rightarg = %%4$s, function = %%1$I.planted)', place, f.o, t, u);
            END LOOP;
        END LOOP;
    END LOOP;
END $do$`

// planted is an empty database in which a role without rights has planted what it can, in public and in schemas that are
// named like the roles that connect. The connections of the test see nothing of it.
func planted(t *testing.T) *database {
	t.Helper()
	address := storetest.Empty(t)
	config, err := pgxpool.ParseConfig(address)
	require.NoError(t, err)
	config.ConnConfig.RuntimeParams["search_path"] = "pg_catalog, pg_temp"
	config.MaxConns = 4
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	d := &database{url: address, pool: pool}
	planter := pgx.Identifier{"planter_" + config.ConnConfig.Database}.Sanitize()
	script := "CREATE ROLE " + planter + "; CREATE SEQUENCE public.recorded; GRANT ALL ON SEQUENCE public.recorded TO PUBLIC; " +
		"GRANT CREATE ON SCHEMA public TO " + planter + "; "
	for _, role := range []string{"postgres", "rowrun_replica"} {
		script += "CREATE SCHEMA " + role + " AUTHORIZATION " + planter + "; GRANT USAGE ON SCHEMA " + role + " TO PUBLIC; "
	}
	script += "SET LOCAL ROLE " + planter + "; "
	for _, place := range []string{"public", "postgres", "rowrun_replica"} {
		script += fmt.Sprintf(plantIn, "'"+place+"'") + "; "
	}
	_, err = pool.Exec(t.Context(), script)
	require.NoError(t, err)
	return d
}

// untouched proves that nothing planted was executed.
func (d *database) untouched(t *testing.T, after string) {
	t.Helper()
	require.False(t, ask[bool](t, d, "SELECT is_called FROM public.recorded"), "after %s: what was planted was executed", after)
}

// A replica's whole life, and every command, beside functions and operators that would be taken for the built-in ones.
func TestWhatIsPlantedIsNeverExecuted(t *testing.T) {
	t.Parallel()
	d, target := planted(t), planted(t)
	own := []string{"DATABASE_URL=" + d.url}
	command := func(code int, args ...string) {
		got, out := rowrun(t, own, args...)
		require.Equal(t, code, got, "%v: %s", args, out)
		d.untouched(t, strings.Join(args, " "))
	}
	command(0, "migrate", "up")
	command(0, "migrate", "down", "13")
	command(0, "migrate", "up")
	command(0, "migrate", "status")
	command(0, "migrate", "grants")
	_, script := rowrun(t, own, "migrate", "sql")
	require.Contains(t, script, "\nSET search_path = pg_catalog, pg_temp;\n")

	config := filepath.Join(t.TempDir(), "rowrun.yaml")
	require.NoError(t, os.WriteFile(config, []byte("databases: {orders: {url: '"+target.url+"', lock_timeout: 5s, statement_timeout: 1m}}\n"), 0o600))
	as, err := url.Parse(d.url)
	require.NoError(t, err)
	query := as.Query()
	query.Set("options", "-c role=rowrun_replica")
	as.RawQuery = strings.ReplaceAll(query.Encode(), "+", "%20")
	flags := []string{
		"--config", config, "--sweep-interval", "200ms", "--stale-sweep-interval", "200ms", "--heartbeat-interval", "300ms",
		"--stale-after", "3s", "--cleanup-interval", "500ms", "--retention", "1h",
	}
	r := serve(t, as.String(), flags)
	d.untouched(t, "serve's start")

	// Through every statement of a run's life.
	failing := d.job(t, "NOOP", `{"fail": "no"}`, columns{"max_attempts": 2, "retry_delay": "10 ms"})
	d.await(t, failing, "FAILED")
	for i, transaction := range []string{"true", "false"} {
		more := columns{"database_id": "orders", "version": fmt.Sprint(i + 1)}
		d.await(t, d.job(t, "DATABASE_MIGRATE", `{"sql": "SELECT 1", "transaction": `+transaction+`}`, more), "DONE")
	}
	d.await(t, d.job(t, "SQL", `{"sql": "SELECT 1; DO 'BEGIN RAISE NOTICE ''x''; END'"}`, columns{"database_id": "orders"}), "DONE")
	target.untouched(t, "migrations of a target")
	plan := d.plan(t, `{}`, `{}`)
	d.exec(t, "SELECT rowrun.run_plan($1)", plan)
	d.awaitPlan(t, plan, "DONE")
	waits := d.job(t, "NOOP", `{"sleep": "10m"}`, nil)
	d.await(t, waits, "RUNNING")
	command(0, "run", "cancel", fmt.Sprint(waits))
	d.await(t, waits, "CANCELED")
	lost := d.job(t, "NOOP", `{"sleep": "10m"}`, nil)
	d.await(t, lost, "RUNNING")
	r.kill(t)
	r = serve(t, as.String(), flags)
	d.await(t, lost, "FAILED")
	d.task(t, "NOOP", `{}`, columns{"schedule": "@every 1s"})
	d.exec(t, "INSERT INTO rowrun.task_run (task_id, run_at) SELECT task_id, now() + interval '1 day' FROM rowrun.task_run WHERE id = $1", failing)
	pause(t, 3*time.Second) // some rounds of every sweep
	d.untouched(t, "a replica's sweeps")
	d.exec(t, "UPDATE rowrun.task SET schedule = NULL WHERE schedule IS NOT NULL")

	for _, args := range [][]string{
		{"run", "list"},
		{"run", "show", fmt.Sprint(lost)},
		{"run", "why", fmt.Sprint(lost)},
		{"plan", "list"},
		{"plan", "show", fmt.Sprint(plan)},
		{"task", "list"},
		{"status"},
		{"replica", "list"},
		{"webhook", "list"},
		{"schedule", "list"},
		{"type", "list"},
		{"stream", "--since", "10m", "--until-idle"},
	} {
		_, out := rowrun(t, own, args...)
		require.NotContains(t, out, "SQLSTATE", "%v", args)
		d.untouched(t, strings.Join(args, " "))
	}
	r.signal(t, syscall.SIGTERM)
	require.Zero(t, r.wait(t))
	_, out := rowrun(t, own, "doctor")
	require.NotContains(t, out, "could not be looked at")
	d.untouched(t, "doctor")
	// What a time limit ended is a busy machine's; what is planted is called at once or never.
	require.NotContains(t, strings.ReplaceAll(r.log.text(), "SQLSTATE 57014", ""), "SQLSTATE")
}
