package events

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rowrun/rowrun/store/session"
)

// closeTimeout bounds the goodbye to a server that may not be there any more.
const closeTimeout = time.Second

var (
	errSealed    = errors.New("no further connection")
	errLeftInTx  = errors.New("a function left the listening connection in a transaction")
	errWasClosed = errors.New("a function closed the listening connection")
)

// link is one connection together with its socket, so that it can be closed at
// once: pgx would first try for up to 15 s to have the server cancel what the
// connection was doing, in a goroutine that outlives its caller.
type link struct {
	conn *pgx.Conn

	mu     sync.Mutex // pgx dials in goroutines of its own to have a statement canceled
	sealed bool       // no socket is opened any more
	raw    []net.Conn // every socket that was opened
}

// dial connects within timeout for each host of the configuration.
func dial(ctx context.Context, config *pgx.ConnConfig, timeout time.Duration) (*link, error) {
	config = config.Copy()
	if config.ConnectTimeout <= 0 || config.ConnectTimeout > timeout {
		config.ConnectTimeout = timeout
	}
	l := &link{}
	dialSocket := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if l.isSealed() {
			return nil, errSealed
		}
		socket, err := dialSocket(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return l.keep(socket)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout*time.Duration(1+len(config.Fallbacks)))
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, config)
	l.seal()
	if err != nil {
		l.closeSockets()
		// The outer error names user and database; the inner one says what is wrong.
		if outer, ok := errors.AsType[*pgconn.ConnectError](err); ok {
			err = outer.Unwrap()
		}
		return nil, fmt.Errorf("connect: %w", err)
	}
	l.conn = conn
	return l, nil
}

// close ends the session, waits until nothing of the connection is left in this
// process, and takes at most closeTimeout.
func (l *link) close() {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	_ = l.conn.Close(ctx) // says goodbye, which frees the session's locks; nobody to report to
	l.closeSockets()
	<-l.conn.PgConn().CleanupDone()
}

func (l *link) isSealed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sealed
}

func (l *link) seal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sealed = true
}

// keep remembers a new socket, or closes it where it came too late.
func (l *link) keep(socket net.Conn) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.sealed {
		_ = socket.Close()
		return nil, errSealed
	}
	l.raw = append(l.raw, socket)
	return socket, nil
}

func (l *link) closeSockets() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, socket := range l.raw {
		_ = socket.Close()
	}
}

// usable says why the connection can't go on listening after somebody else's
// function ran on it; nil where it can.
func (l *link) usable() error {
	switch {
	case l.conn.IsClosed():
		return errWasClosed
	case l.conn.PgConn().TxStatus() != 'I':
		return errLeftInTx
	}
	return nil
}

const setSessionSQL = `-- listen_session
select pg_catalog.set_config('idle_session_timeout', '0', false),
       pg_catalog.set_config('statement_timeout', $1, false),
       pg_catalog.set_config('idle_in_transaction_session_timeout', $1, false),
       pg_catalog.set_config('tcp_keepalives_idle', $2, false),
       pg_catalog.set_config('tcp_keepalives_interval', '1', false),
       pg_catalog.set_config('tcp_user_timeout', $3, false)`

// setSession pins path and isolation, and has the server bound what this session may
// hold, and for how long after the network went away. It can't be done in the start-up packet: a
// pooler refuses what it doesn't know, before ProbeListen can tell that it is one.
func (l *link) setSession(ctx context.Context, statement, silence, giveUp time.Duration) error {
	milliseconds := func(d time.Duration) string { return strconv.FormatInt(max(d.Milliseconds(), 1), 10) }
	seconds := strconv.FormatInt(int64(max(silence.Round(time.Second), time.Second)/time.Second), 10)
	if _, err := l.conn.Exec(ctx, session.SetUp); err != nil {
		return fmt.Errorf("set up the session: %w", err)
	}
	_, err := l.conn.Exec(ctx, setSessionSQL, pgx.QueryExecModeExec,
		milliseconds(statement), seconds, milliseconds(giveUp))
	if err != nil {
		return fmt.Errorf("set up the session: %w", err)
	}
	return nil
}
