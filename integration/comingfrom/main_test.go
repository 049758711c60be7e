package comingfrom_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/store/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// patience bounds what is executed.
const patience = 5 * time.Minute

// database is one that has Rowrun's schema, and is to get another queue's.
type database struct {
	*testing.T
	url  string
	conn *pgx.Conn
	role string // that scripts are executed as; "": the superuser
}

func newDatabase(t *testing.T) *database {
	t.Helper()
	url := storetest.New(t)
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	return &database{T: t, url: url, conn: conn}
}

// newSession is another session of the same database.
func newSession(d *database) *database {
	d.Helper()
	conn, err := pgx.Connect(d.Context(), d.url)
	require.NoError(d, err)
	d.Cleanup(func() { _ = conn.Close(context.WithoutCancel(d.Context())) })
	return &database{T: d.T, url: d.url, conn: conn}
}

func (d *database) exec(statements ...string) {
	d.Helper()
	for _, statement := range statements {
		_, err := d.conn.Exec(context.WithoutCancel(d.Context()), statement)
		require.NoError(d, err, statement)
	}
}

// lines are the rows of a question with one column of text.
func (d *database) lines(question string, args ...any) []string {
	d.Helper()
	rows, err := d.conn.Query(d.Context(), question, args...)
	require.NoError(d, err, question)
	all, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(d, err, question)
	return all
}

// becomes waits until a question has this answer.
func (d *database) becomes(want, question string) {
	d.Helper()
	deadline, tick := time.After(time.Minute), time.NewTicker(10*time.Millisecond)
	defer tick.Stop()
	for got := d.lines(question); len(got) != 1 || got[0] != want; got = d.lines(question) {
		select {
		case <-tick.C:
		case <-deadline:
			require.Equal(d, []string{want}, got, question)
		}
	}
}

// runs are all of Rowrun's, in words. What a key is made of besides the name is a moment.
func (d *database) runs() []string {
	d.Helper()
	return d.lines(`SELECT concat_ws(' | ', k.name, r.status, r.input, r.priority, regexp_replace(r.idempotency_key, ' [0-9]+\.[0-9]+$', ''),
			CASE WHEN r.run_at > now() + interval '20 hours' THEN 'tomorrow' WHEN r.run_at > now() THEN 'soon' ELSE 'due' END)
		FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id ORDER BY k.name, r.input ->> 'n', r.input::text`)
}

// move executes a script as its head says; what it reports, a line for each kind.
func (d *database) move(script string, variables ...string) []string {
	d.Helper()
	ctx, cancel := context.WithTimeout(d.Context(), patience)
	defer cancel()
	args := []string{d.url, "-X", "-q", "-A", "-t", "-F", " | "}
	for _, variable := range variables {
		args = append(args, "-v", variable)
	}
	psql := exec.CommandContext(ctx, "psql", append(args, "-f", filepath.Join("..", "..", "deploy", "coming-from", script))...)
	options := "-c lock_timeout=20s" // nobody's lock is waited for
	if d.role != "" {
		options += " -c role=" + d.role
	}
	psql.Env = append(os.Environ(), "PGOPTIONS="+options)
	said, err := psql.CombinedOutput()
	require.NoError(d, err, string(said))
	return strings.Split(strings.TrimSpace(string(said)), "\n")
}

// moved is move, called again: the second time nothing is left to be moved, and no run is added.
func (d *database) moved(script string, variables ...string) []string {
	d.Helper()
	before := d.runs()
	dry := d.move(script, append(variables, "dry_run=on")...)
	require.Equal(d, before, d.runs(), "a dry run has changed something")
	said := d.move(script, variables...)
	require.Equal(d, append(append([]string{}, said...), "dry_run: nothing was changed"), dry)

	made := d.runs()
	for _, line := range d.move(script, variables...) {
		require.NotContains(d, line, "| moved", "called again")
	}
	require.Equal(d, made, d.runs())
	return said
}

// node executes a command of an npm package.
func (d *database) node(command string, args ...string) {
	d.Helper()
	lock, err := os.Stat("package-lock.json")
	require.NoError(d, err)
	installed, err := os.Stat(filepath.Join("node_modules", ".package-lock.json"))
	require.False(d, err != nil || installed.ModTime().Before(lock.ModTime()), "the packages are not there: make test-coming-from installs them")
	ctx, cancel := context.WithTimeout(d.Context(), patience)
	defer cancel()
	said, err := exec.CommandContext(ctx, "node", append([]string{filepath.Join("node_modules", ".bin", command)}, args...)...).CombinedOutput()
	require.NoError(d, err, string(said))
}

// tcp is the database's URL for those who know no sockets.
func (d *database) tcp() string {
	config := d.conn.Config()
	return fmt.Sprintf("postgres://%s@127.0.0.1:%d/%s?sslmode=disable", config.User, config.Port, config.Database)
}
