package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// deployment is what `make run` starts: the program, a PostgreSQL of its own and the sample. With it there is a second replica,
// and a rollout with failures.
type deployment struct {
	once    sync.Once
	err     error
	dir     string
	program string
	dev     *exec.Cmd
	said    []string // what it printed before it was up

	base  string // of the pages
	token string
	dsn   string
	plan  string // the rollout
	waves string // a plan whose second wave has stopped
	moved string // another one, which is resumed and rolled on
	given string // and one that is given up
}

var real deployment //nolint:gochecknoglobals,revive // one for all tests: a start takes seconds

// deployed starts the deployment at the first call.
func deployed(t *testing.T) *deployment {
	t.Helper()
	real.once.Do(func() { real.err = real.begin() })
	require.NoError(t, real.err, strings.Join(real.said, "\n"))
	return &real
}

func (d *deployment) begin() (err error) {
	if d.dir, err = os.MkdirTemp("/tmp", "rowrun-browser-"); err != nil { // the server's user has to reach it
		return err
	}
	if err := os.Chmod(d.dir, 0o755); err != nil { //nolint:gosec // see above
		return err
	}
	d.program = filepath.Join(d.dir, "rowrun")
	compile := exec.Command("go", "build", "-buildvcs=false", "-o", d.program, "./cmd/rowrun") //nolint:noctx // go test has a timeout
	compile.Dir = "../../../../.."
	compile.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := compile.CombinedOutput(); err != nil {
		return fmt.Errorf("build the program: %w\n%s", err, out)
	}
	addr, err := freeAddr() // what is given is what is printed
	if err != nil {
		return err
	}
	// Its lease outlasts what a machine with other things to do may keep it waiting: its runs would be given up as STALE otherwise, and
	// what pages are to show would have gone.
	d.dev = d.command("dev", "--sample", "--dir", filepath.Join(d.dir, "data"), "--http-addr", addr, "--http-prefix", prefix,
		"--heartbeat-interval", "1s", "--stale-after", "2m", "--log-level", "error")
	d.dev.Stdout, d.dev.Stderr = io.Discard, nil
	words, err := d.dev.StderrPipe()
	if err != nil {
		return err
	}
	if err := d.dev.Start(); err != nil {
		return err
	}
	lines := bufio.NewScanner(words)
	address, dsn := regexp.MustCompile(`^\s+(http://\S+/)#token=(\S+)$`), regexp.MustCompile(`export DATABASE_URL='(.*)'$`)
	for (d.dsn == "" || d.base == "") && lines.Scan() {
		d.said = append(d.said, lines.Text())
		if found := address.FindStringSubmatch(lines.Text()); found != nil {
			d.base, d.token = found[1], found[2]
		}
		if found := dsn.FindStringSubmatch(lines.Text()); found != nil {
			d.dsn = found[1]
		}
	}
	if d.dsn == "" || d.base == "" {
		return errors.New("rowrun dev printed no address")
	}
	go func() {
		for lines.Scan() { // a pipe that nobody reads would hold it up
			continue
		}
	}()
	return d.fill()
}

// freeAddr is an address of loopback's where nobody listens now.
func freeAddr() (string, error) {
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// command is a command line of the program.
func (d *deployment) command(args ...string) *exec.Cmd {
	c := exec.Command(d.program, args...) //nolint:gosec,noctx // it is stopped by name
	c.Env = append(os.Environ(), "DATABASE_URL="+d.dsn, "OPERATOR=of-bob")
	c.Stderr = os.Stderr
	return c
}

func (d *deployment) end() error {
	if d.dir == "" {
		return nil
	}
	defer func() { _ = os.RemoveAll(d.dir) }()
	if d.dev == nil || d.dev.Process == nil {
		return nil
	}
	if err := d.dev.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return d.dev.Wait()
}

// fill makes a rollout over twelve databases, two of which fail, and one run of each kind that a page shows otherwise.
func (d *deployment) fill() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	conn, err := d.connect(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	err = conn.QueryRow(ctx, `SELECT rowrun.create_plan('invoice notes, all shops', (SELECT jsonb_agg(jsonb_build_object(
			'name', format('%s %s', db, version), 'type', 'NOOP', 'database_id', db, 'version', version, 'sequential', true,
			'payload', CASE WHEN version = '1.2' AND db IN ('shop-fr-1', 'shop-fr-2')
				THEN jsonb_build_object('fail', format('relation "invoice_%s" does not exist (line 17)', n)) ELSE jsonb_build_object('sleep', (20 + n * 7) || 'ms') END)
			|| CASE WHEN version = '2.0' AND db <> 'shop-de-1' THEN jsonb_build_object('depends_on', jsonb_build_array('shop-de-1 2.0')) ELSE '{}' END ORDER BY n, version)
		FROM unnest('{shop-de-1,shop-de-2,shop-de-3,shop-es-1,shop-es-2,shop-fr-1,shop-fr-2,shop-fr-3,shop-it-1,shop-it-2,shop-pl-1,shop-pl-2}'::text[]) WITH ORDINALITY x(db, n),
			unnest('{1.0,1.1,1.2,1.3,2.0,2.1}'::text[]) version), parallel_limit => 8)::text`).Scan(&d.plan)
	if err != nil {
		return fmt.Errorf("make a rollout: %w", err)
	}
	for name, id := range map[string]*string{"an index, in waves": &d.waves, "another index, in waves": &d.moved, "a third index, in waves": &d.given} {
		if *id, err = d.inWaves(ctx, conn, name); err != nil {
			return err
		}
	}
	for _, sql := range []string{
		`SELECT rowrun.run_plan(` + d.plan + `)`, `SELECT rowrun.run_plan(` + d.waves + `)`, `SELECT rowrun.run_plan(` + d.moved + `)`, `SELECT rowrun.run_plan(` + d.given + `)`,
		`SELECT rowrun.create_plan('next month', '[{"name": "one", "type": "NOOP"}, {"name": "two", "type": "NOOP"}, {"name": "three", "type": "NOOP"}]')`,
		`SELECT rowrun.define_task('nightly report', 'NOOP', '{"sleep": "5ms"}')`,
		`UPDATE rowrun.task SET schedule = '0 3 * * *', time_zone = 'Europe/Paris' WHERE name = 'nightly report'`,
		`SELECT rowrun.define_task('import', 'NOOP', '{"sleep": "1h"}')`,
		`SELECT rowrun.run_task('import') FROM generate_series(1, 3)`,
		`SELECT rowrun.define_task('shaky', 'NOOP', '{"fail": "no luck"}')`,
		`SELECT rowrun.run_task('shaky') FROM generate_series(1, 5)`,
		`SELECT rowrun.run_task('nightly report', run_at => now() + interval '1 day')`,
		`INSERT INTO rowrun.concurrency_limit (name, type, max_running, rate, per) VALUES ('slow', 'LATER', 2, 10, '1 min'), ('spare', 'LATER', 5, NULL, NULL)`,
		`INSERT INTO rowrun.task (name, type) VALUES ('of our own', 'MAIL')`,
		`SELECT rowrun.run_task('of our own')`,
	} {
		if _, err := conn.Exec(ctx, sql); err != nil {
			return fmt.Errorf("%s: %w", sql, err)
		}
	}
	// It stands still when what can be run has ended, and the sample is over.
	return d.until(ctx, conn, `SELECT NOT EXISTS (SELECT FROM rowrun.task_run r WHERE r.status IN ('AVAILABLE', 'RUNNING') AND r.plan_id IS NOT NULL)
		AND (SELECT failed = 2 FROM rowrun.plan_status WHERE plan_id = `+d.plan+`) AND EXISTS (SELECT FROM rowrun.webhook_delivery WHERE status = 'DELIVERED')
		AND (SELECT count(*) = 3 FROM rowrun.task_run WHERE status = 'RUNNING')
		AND (SELECT count(*) = 3 FROM rowrun.plan_wave WHERE stopped_at IS NOT NULL)
		AND (SELECT status = 'DONE' FROM rowrun.plan_status WHERE name = 'sample')`)
}

// inWaves makes a plan of three waves, of which the second will have a failure more than it bears.
func (d *deployment) inWaves(ctx context.Context, conn *pgx.Conn, name string) (id string, err error) {
	err = conn.QueryRow(ctx, `SELECT rowrun.create_plan($1, (SELECT jsonb_agg(jsonb_build_object('name', db, 'type', 'NOOP', 'database_id', db || ' of ' || $1,
			'payload', CASE WHEN n = 4 THEN '{"fail": "could not create unique index \"account_email\""}'::jsonb ELSE '{"sleep": "30ms"}' END) ORDER BY n)
		FROM unnest('{canary-1,shop-1,shop-2,shop-3,shop-4,shop-5,shop-6}'::text[]) WITH ORDINALITY x(db, n)))::text`, name).Scan(&id)
	if err != nil {
		return "", fmt.Errorf("make a plan in waves: %w", err)
	}
	_, err = conn.Exec(ctx, `SELECT rowrun.add_waves($1::bigint, (SELECT jsonb_agg(jsonb_build_object('name', name, 'tasks', tasks) ORDER BY name) FROM (
			SELECT CASE WHEN n = 1 THEN '1' WHEN n <= 4 THEN '50%' ELSE 'the rest' END AS name, jsonb_agg(id) AS tasks
			FROM (SELECT k.id, row_number() OVER (ORDER BY k.id) AS n FROM rowrun.task k WHERE k.plan_id = $1::bigint) k GROUP BY 1) w))`, id)
	if err != nil {
		return "", fmt.Errorf("make waves: %w", err)
	}
	return id, nil
}

func (d *deployment) connect(ctx context.Context) (*pgx.Conn, error) {
	return pgx.Connect(ctx, d.dsn)
}

func (d *deployment) until(ctx context.Context, conn *pgx.Conn, sql string) error {
	for {
		var holds bool
		if err := conn.QueryRow(ctx, sql).Scan(&holds); err != nil || holds {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("never held: %s", sql)
		case <-time.After(pollEvery):
		}
	}
}

// ask reads one value.
func ask[T any](t *testing.T, d *deployment, sql string) T {
	t.Helper()
	conn, err := d.connect(t.Context())
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	var value T
	require.NoError(t, conn.QueryRow(t.Context(), sql).Scan(&value), sql)
	return value
}

// holds waits for a condition of the database.
func (d *deployment) holds(t *testing.T, sql string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	conn, err := d.connect(ctx)
	require.NoError(t, err)
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	require.NoError(t, d.until(ctx, conn, sql))
}

// open opens a tab of somebody who may act.
func (d *deployment) open(t *testing.T) *tab {
	t.Helper()
	w := newTab(t, d.base)
	w.signIn(d.token)
	return w
}

// serve starts another replica, and ends it with the test unless it has ended before.
func (d *deployment) serve(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	c := d.command(append([]string{"serve", "--heartbeat-interval", "1s", "--stale-after", "5s", "--log-level", "error"}, args...)...)
	c.Stdout = io.Discard
	require.NoError(t, c.Start())
	t.Cleanup(func() {
		if c.ProcessState == nil {
			_ = c.Process.Kill()
			_ = c.Wait()
		}
	})
	return c
}

// signIn shows a token behind the address, as the programs print it.
func (w *tab) signIn(token string) {
	w.t.Helper()
	w.do(chromedp.Navigate(w.base + "#token=" + token))
	w.until("document.querySelector('.who')", "signed in")
}

// perform presses a button of the page whose text begins with name, confirms what the dialog previews, and waits until it
// says what was done. fill completes the dialog.
func (w *tab) perform(name, within string, fill func()) {
	w.t.Helper()
	button := fmt.Sprintf("[...document.querySelectorAll('main button')].find((b) => b.textContent.trim().startsWith(%q) && b.getClientRects().length && (b.closest('tr, li, header, aside, .selection, section')?.textContent ?? '').includes(%q))", name, within)
	w.until(button, "a button "+name)
	require.True(w.t, eval[bool](w, button+".click() ?? true"))
	w.until("document.querySelector('dialog button[type=submit]:not(:disabled)')", "a preview of "+name)
	if fill != nil {
		fill()
	}
	require.True(w.t, eval[bool](w, "document.querySelector('dialog button[type=submit]').click() ?? true"))
	w.until("document.querySelector('dialog .outcome') && !document.querySelector('dialog .outcome progress')", "what "+name+" did")
	require.Contains(w.t, eval[string](w, "document.querySelector('dialog .outcome b').textContent"), "1", name)
	require.Zero(w.t, eval[int](w, "document.querySelectorAll('dialog .outcome .bad').length"), name)
	require.True(w.t, eval[bool](w, "[...document.querySelectorAll('dialog footer button')].at(0).click() ?? true"))
	w.until("!document.querySelector('dialog')", "the end of the dialog of "+name)
}
