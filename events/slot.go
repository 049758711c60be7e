package events

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pglogrepl"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rowrun/rowrun/store/session"
)

// ErrSlotTimeout means that a slot could not be made in time: it waits for every open transaction that has written.
var ErrSlotTimeout = errors.New("a transaction that is open kept the slot from being made")

// slotGrace is what a server that is slow has, beside the limit, to give a connection, and to say that the limit is over.
const slotGrace = 5 * time.Second

// MadeSlot is a logical slot that was just made, and holds the snapshot of what was committed before the slot tells of anything. Close it.
type MadeSlot struct {
	// Snapshot is for SET TRANSACTION SNAPSHOT, in the slot's database and until Close: what it shows the slot doesn't tell of, and the
	// slot tells of everything else.
	Snapshot string

	link *link
}

// MakeSlot makes a slot with the plugin pgoutput, in the database that config leads to without a pooler: a failover slot where the server has
// these. The server gives up after limit (ErrSlotTimeout).
func MakeSlot(ctx context.Context, config *pgx.ConnConfig, name string, limit time.Duration) (*MadeSlot, error) {
	ctx, cancel := context.WithTimeout(ctx, limit+slotGrace)
	defer cancel()
	k, err := dial(ctx, replicating(config, "rowrun stream slot"), slotGrace)
	if err != nil {
		return nil, fmt.Errorf("make a replication slot: %w", err)
	}
	made := &MadeSlot{link: k}
	if made.Snapshot, err = k.makeSlot(ctx, name, limit); err != nil {
		k.close() // what was half made goes with the session
		return nil, fmt.Errorf("make a replication slot: %w", err)
	}
	return made, nil
}

func (l *link) makeSlot(ctx context.Context, name string, limit time.Duration) (snapshot string, err error) {
	conn := l.conn.PgConn()
	settings := session.SetUp + "; SET lock_timeout = " + strconv.FormatInt(max(limit.Milliseconds(), 1), 10) + "; SET idle_in_transaction_session_timeout = 0"
	if _, err := conn.Exec(ctx, settings).ReadAll(); err != nil {
		return "", fmt.Errorf("set up the session: %w", err)
	}
	options := "(SNAPSHOT 'export')"
	if majorOf(conn) >= failoverSlots {
		options = "(SNAPSHOT 'export', FAILOVER)"
	}
	made, err := pglogrepl.ParseCreateReplicationSlot(conn.Exec(ctx, "CREATE_REPLICATION_SLOT "+pgx.Identifier{name}.Sanitize()+" LOGICAL pgoutput "+options))
	const lockTimeout = "55P03"
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code == lockTimeout {
		return "", fmt.Errorf("%w: %w", ErrSlotTimeout, err)
	}
	return made.SnapshotName, err
}

// failoverSlots is the first major version of PostgreSQL whose standbys keep slots in step with their primary's.
const failoverSlots = 17

// majorOf is the major version of the server; 0: it doesn't say.
func majorOf(conn *pgconn.PgConn) int {
	version := conn.ParameterStatus("server_version") // such as 17.4 (Debian 17.4-1), or 18beta1
	digits := strings.IndexFunc(version, func(r rune) bool { return r < '0' || r > '9' })
	if digits < 0 {
		digits = len(version)
	}
	major, _ := strconv.Atoi(version[:digits])
	return major
}

// Close gives the snapshot up. The slot stays.
func (m *MadeSlot) Close() { m.link.close() }

// replicating is a configuration for a session that speaks the replication protocol.
func replicating(config *pgx.ConnConfig, appName string) *pgx.ConnConfig {
	config = config.Copy()
	if config.RuntimeParams == nil {
		config.RuntimeParams = map[string]string{}
	}
	session.Encode(config)
	config.RuntimeParams["replication"] = "database"
	config.RuntimeParams["application_name"] = appName
	return config
}
