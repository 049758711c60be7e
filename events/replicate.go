package events

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pglogrepl"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/rowrun/rowrun/store/session"
)

var (
	// ErrSlotInUse means that somebody else reads from the slot, or did until a moment ago.
	ErrSlotInUse = errors.New("replication slot is in use")
	// ErrNoSlot means that there is no slot of that name.
	ErrNoSlot = errors.New("replication slot does not exist")
	// ErrSlotLost means that the server has removed log that the slot needs.
	ErrSlotLost = errors.New("replication slot has lost its log")
	// ErrNotPossible means that this server or role can't replicate; waiting does not mend it.
	ErrNotPossible = errors.New("replication is not possible here")
)

// ReplicateConfig says what a Replication reads.
type ReplicateConfig struct {
	// ConnConfig comes from pgx.ParseConfig. Required. It must lead to the server itself.
	ConnConfig *pgx.ConnConfig
	// Slot is a logical slot of this database with the plugin pgoutput. Required.
	Slot string
	// Publication says of which tables and columns. Required.
	Publication string
	// AppName is the session's application_name. Default "rowrun stream".
	AppName string
	// SenderTimeout is how long the server waits for a sign of life before it
	// gives this connection up and frees the slot; such a sign is sent in a
	// quarter of it. Default 10 s.
	SenderTimeout time.Duration
	// ConnectTimeout bounds connecting, for each host of ConnConfig, and then the start. Default 5 s.
	ConnectTimeout time.Duration
	// Buffer is how many rows are held for a reader that is behind; then no more
	// is read from the server, which keeps them. Default 20,000.
	Buffer int
	// BufferBytes is how much text the rows that are held may have, and a piece of a large transaction; the last row may go beyond
	// it. Default 16 MiB.
	BufferBytes int
	// Trim, where not nil, is called for each row before it is held, and may put Null in the place of a value that is of no
	// use. It is called by Run, and must not block.
	Trim func(row *Row)
	// Failover makes the slot one that standbys keep in step with their primary's, where the server can (PostgreSQL 17 and later).
	Failover bool
	// Inserted, where not nil, is called when a transaction with an INSERT has
	// been received, before Next returns it. It must not block.
	Inserted func()
	// Filled, where not nil, is called when the buffer has become full: Full, and after a second Stalled, say so until it
	// isn't. It must not block.
	Filled func()
}

// System tells one history of the log from another.
type System struct {
	ID       string // given at initdb
	Timeline int    // one more after each promotion
	End      LSN    // of the log when the connection was made
	// Forks are the ends of the timelines before this one: what was committed there before its end is committed on this one. Missing is what a
	// recovery to a point in time left, and what isn't known.
	Forks map[int]LSN
}

// Tx is a committed transaction with the rows that were published, or a piece of
// a large one.
type Tx struct {
	LSN  LSN // where its commit stands
	End  LSN // the place behind it: what to confirm; 0: more pieces of the same transaction follow
	Time time.Time
	Rows []Row
}

// Replication is one connection that reads committed transactions from a slot,
// in the order of their commits. Open it, have one goroutine Run it, and another
// one call Next and Confirm.
type Replication struct {
	config ReplicateConfig
	link   *link
	system System

	mu        sync.Mutex
	pending   []Tx
	held      int // rows in pending
	heldBytes int
	stalled   time.Time
	taken     LSN // end of the last transaction that Next returned
	received  LSN // everything before has been received
	confirmed LSN
	ended     error
	signal    chan struct{} // one slot: something for Next
	room      chan struct{} // one slot: something for Run

	// Run only.
	decoder  decoder
	tx       Tx
	txBytes  int  // of its rows, as far as they weren't handed on
	open     bool // within a transaction
	cut      bool // of which a piece was handed on
	reported LSN
	last     time.Time // of the last report
	heard    time.Time // when the server last sent anything
	asked    bool      // the server asks for a report
}

// OpenReplication connects and starts reading where the slot stands. Close it.
// Errors match ErrSlotInUse, ErrNoSlot, ErrSlotLost or ErrNotPossible where that is the cause.
func OpenReplication(ctx context.Context, config ReplicateConfig) (*Replication, error) {
	switch {
	case config.ConnConfig == nil || config.Slot == "" || config.Publication == "":
		return nil, errors.New("replication: ConnConfig, Slot and Publication are required")
	case config.SenderTimeout < 0 || config.ConnectTimeout < 0 || config.Buffer < 0 || config.BufferBytes < 0:
		return nil, errors.New("replication: timeouts and buffer must not be negative")
	}
	if config.AppName == "" {
		config.AppName = "rowrun stream"
	}
	if config.SenderTimeout == 0 {
		config.SenderTimeout = 10 * time.Second
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 5 * time.Second
	}
	if config.Buffer == 0 {
		config.Buffer = 20000
	}
	if config.BufferBytes == 0 {
		config.BufferBytes = 16 << 20
	}
	config.ConnConfig = replicating(config.ConnConfig, config.AppName)
	k, err := dial(ctx, config.ConnConfig, config.ConnectTimeout)
	if err != nil {
		return nil, fmt.Errorf("replicate: %w", replicationError(err))
	}
	r := &Replication{config: config, link: k, signal: make(chan struct{}, 1), room: make(chan struct{}, 1)}
	setup, cancel := context.WithTimeout(ctx, config.ConnectTimeout)
	defer cancel()
	if err := r.start(setup); err != nil {
		k.close()
		return nil, fmt.Errorf("replicate: %w", replicationError(err))
	}
	return r, nil
}

// System is that of the server behind the connection.
func (r *Replication) System() System { return r.system }

// Close ends the connection; the slot is free soon after. Run must have returned, or never been called.
func (r *Replication) Close() { r.link.close() }

// start sets the session up and begins to read. Values come in forms that don't depend on the server's settings.
func (r *Replication) start(ctx context.Context) error {
	conn := r.link.conn.PgConn()
	settings := session.SetUp + "; SET wal_sender_timeout = " + strconv.FormatInt(r.config.SenderTimeout.Milliseconds(), 10) +
		"; SET statement_timeout = 0; SET idle_session_timeout = 0; SET datestyle = 'ISO'; SET timezone = 'UTC'"
	if _, err := conn.Exec(ctx, settings).ReadAll(); err != nil {
		return fmt.Errorf("set up the session: %w", err)
	}
	identity, err := pglogrepl.IdentifySystem(ctx, conn)
	if err != nil {
		return fmt.Errorf("identify system: %w", err)
	}
	r.system = System{ID: identity.SystemID, Timeline: int(identity.Timeline), End: identity.XLogPos, Forks: forks(ctx, conn, identity.Timeline)}
	slot := pgx.Identifier{r.config.Slot}.Sanitize()
	if r.config.Failover && majorOf(conn) >= failoverSlots {
		// Refused, it is read all the same; the next connection tries again.
		_ = conn.Exec(ctx, "ALTER_REPLICATION_SLOT "+slot+" (FAILOVER true)").Close()
	}
	err = pglogrepl.StartReplication(ctx, conn, slot, 0, pglogrepl.StartReplicationOptions{
		Mode: pglogrepl.LogicalReplication,
		PluginArgs: []string{
			"proto_version '1'",
			"publication_names '" + strings.ReplaceAll(pgx.Identifier{r.config.Publication}.Sanitize(), "'", "''") + "'",
		},
	})
	if err != nil {
		return fmt.Errorf("start replication: %w", err)
	}
	return nil
}

// replicationError adds what an error means for the slot.
func replicationError(err error) error {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return err
	}
	switch pg.Code {
	case "55006":
		return fmt.Errorf("%w: %w", ErrSlotInUse, err)
	case "42704":
		return fmt.Errorf("%w: %w", ErrNoSlot, err)
	case "58P01":
		return fmt.Errorf("%w: %w", ErrSlotLost, err)
	case "55000":
		// One code for a slot whose log is gone and for a server that isn't configured; the slot's row in the catalog
		// tells them apart before this is reached, so that here it is the slot.
		return fmt.Errorf("%w: %w", ErrSlotLost, err)
	case "42501", "28000", "28P01", "53300", "0A000":
		return fmt.Errorf("%w: %w", ErrNotPossible, err)
	}
	return err
}

// Run reads until ctx ends (nil) or the connection is lost. It sends signs of
// life all the time, also while nobody takes what was read.
func (r *Replication) Run(ctx context.Context) error {
	conn := r.link.conn.PgConn().Conn()
	unhook := context.AfterFunc(ctx, r.interrupt)
	defer unhook()
	err := r.read(ctx, conn)
	if err == nil || ctx.Err() != nil {
		// What was written is confirmed, so that the next one doesn't repeat it.
		_ = r.report(conn, true)
		err = nil
	}
	r.mu.Lock()
	r.ended = errClosed
	if err != nil {
		err = fmt.Errorf("replicate: %w", err)
		r.ended = err
	}
	r.mu.Unlock()
	signal(r.signal)
	return err
}

func (r *Replication) read(ctx context.Context, conn net.Conn) error {
	r.last, r.heard = time.Now(), time.Now()
	for ctx.Err() == nil {
		if err := r.report(conn, false); err != nil {
			return err
		}
		if !r.waitForRoom(ctx) {
			continue // ctx is over, or a report is due
		}
		if time.Since(r.heard) > r.config.SenderTimeout {
			return fmt.Errorf("the server was silent for %s", r.config.SenderTimeout)
		}
		if r.setDeadline(ctx, conn) != nil {
			continue
		}
		// Without a context of its own: pgx would start a goroutine for each message.
		message, err := r.link.conn.PgConn().ReceiveMessage(context.Background())
		switch {
		case pgconn.Timeout(err) || isTimeout(err):
			continue
		case err != nil:
			return replicationError(err)
		}
		r.heard = time.Now()
		switch m := message.(type) {
		case *pgproto3.CopyData:
			if err := r.handle(m.Data); err != nil {
				return err
			}
		case *pgproto3.ErrorResponse:
			return replicationError(pgconn.ErrorResponseToPgError(m))
		case *pgproto3.CopyDone, *pgproto3.CommandComplete:
			return errors.New("the server ended the replication")
		}
	}
	return nil
}

func isTimeout(err error) bool {
	e, ok := errors.AsType[net.Error](err)
	return ok && e.Timeout()
}
