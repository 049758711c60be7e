package doctor

import (
	"context"
	"crypto/tls"
	"errors"
	"net"

	"github.com/jackc/pgx/v5"

	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store/connect"
	"github.com/rowrun/rowrun/store/session"
)

// checkPoolers judges whether a notification arrived where replicas listen, and looks for the bounds that can't be asked
// for through a pooler.
func (d *doctor) checkPoolers(ctx context.Context) error {
	if err := d.Database.Meet(ctx); errors.Is(err, connect.ErrTwoDatabases) {
		d.add("pooler", Warning, err.Error()+"; a replica does not start", "rowrun serve --direct-url postgres://…  # the same database, without the pooler")
		return nil
	}
	switch {
	case d.hearsErr != nil:
		return d.hearsErr
	case !d.hears:
		d.add("pooler", Warning, "notifications do not arrive on "+connect.Place(d.Database.DirectURL)+", most likely through a pooler in transaction mode: replicas poll, and write no stream",
			"rowrun serve --direct-url postgres://…  # the server itself")
	case d.Database.Pooled():
		d.add("pooler", Fine, "notifications arrive on --direct-url", "")
		return d.checkPooledSessions(ctx)
	default:
		d.add("pooler", Fine, "notifications arrive", "")
	}
	return nil
}

// checkPooledSessions: a replica bounds its own sessions, but not those that it shares.
func (d *doctor) checkPooledSessions(ctx context.Context) error {
	config, err := connect.Parse(d.Database.URL)
	if err != nil {
		return err
	}
	session.Encode(config)
	config.DefaultQueryExecMode = pgx.QueryExecModeExec // a statement may meet another session
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	var role string
	var statement, idle bool
	const q = `-- doctor_pooled
SELECT current_user::pg_catalog.text, pg_catalog.current_setting('statement_timeout') OPERATOR(pg_catalog.<>) '0',
       pg_catalog.current_setting('idle_in_transaction_session_timeout') OPERATOR(pg_catalog.<>) '0'`
	if err := conn.QueryRow(ctx, q).Scan(&role, &statement, &idle); err != nil {
		return err
	}
	if !statement || !idle {
		d.add("pooler", Warning, "sessions through the pooler have no statement_timeout or no idle_in_transaction_session_timeout: "+
			"one that a replica has lost may hold its locks for as long as it likes",
			"ALTER ROLE "+quoteIdentifier(role)+" SET statement_timeout = '18s'; ALTER ROLE "+quoteIdentifier(role)+
				" SET idle_in_transaction_session_timeout = '18s'; -- three tenths of --stale-after")
	}
	return nil
}

// hears sends a notification to itself.
func hears(ctx context.Context, url string) (bool, error) {
	config, err := connect.Parse(url)
	if err != nil {
		return false, err
	}
	err = events.ProbeListen(ctx, config)
	if errors.Is(err, events.ErrNoNotify) {
		return false, nil
	}
	return err == nil, err
}

// checkEncryption warns of a connection to another host that isn't encrypted: payloads, results and, with some ways to
// authenticate, the password can be read on the way. sslmode means what it means to libpq; its default, prefer, takes
// what the server offers.
func (d *doctor) checkEncryption(ctx context.Context) error {
	urls := []string{d.Database.URL}
	if d.Database.DirectURL != d.Database.URL {
		urls = append(urls, d.Database.DirectURL)
	}
	for _, url := range urls {
		config, err := connect.Parse(url)
		if err != nil {
			return err
		}
		session.Encode(config)
		conn, err := pgx.ConnectConfig(ctx, config)
		if err != nil {
			return err
		}
		d.judgeEncryption(url, conn.PgConn().Conn())
		connect.Close(ctx, conn)
	}
	return nil
}

func (d *doctor) judgeEncryption(url string, conn net.Conn) {
	address, overTCP := conn.RemoteAddr().(*net.TCPAddr)
	_, encrypted := conn.(*tls.Conn)
	switch {
	case encrypted:
		d.add("encryption", Fine, "the connection to "+connect.Place(url)+" is encrypted", "")
	case !overTCP || address.IP.IsLoopback():
		d.add("encryption", Fine, "the connection to "+connect.Place(url)+" stays on this machine", "")
	default:
		d.add("encryption", Warning, "the connection to "+connect.Place(url)+" is not encrypted: what tasks get and give can be read and changed on the way",
			"rowrun doctor --database-url 'postgres://…?sslmode=verify-full&sslrootcert=/path/to/ca.crt'  # with ssl = on at the server; require encrypts without knowing whom it talks to")
	}
}
