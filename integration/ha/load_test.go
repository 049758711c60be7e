//go:build ha && linux

package ha

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// pace is that of one writer. The machine is shared by all nodes: the failover is under test, not the throughput.
const pace = 50 * time.Millisecond

// load inserts runs, one a transaction, and keeps the ids that the server acknowledged.
type load struct {
	task   int64
	config *pgx.ConnConfig
	stop   context.CancelFunc
	done   chan struct{}

	mu     sync.Mutex
	acked  map[int64]time.Time
	failed int
	paused bool
	warned bool // by the statement under way: its commit was not confirmed
}

func newLoad(t *testing.T, config *pgx.ConnConfig, task int64) *load {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	l := &load{task: task, config: config, stop: stop, done: make(chan struct{}), acked: map[int64]time.Time{}}
	// A commit whose wait for the standby was broken off is answered as done, with a warning.
	config.OnNotice = func(_ *pgconn.PgConn, n *pgconn.Notice) {
		if n.Severity == "WARNING" {
			l.mu.Lock()
			l.warned = true
			l.mu.Unlock()
		}
	}
	go l.run(ctx)
	t.Cleanup(l.end)
	return l
}

func (l *load) end() {
	l.stop()
	<-l.done
}

func (l *load) run(ctx context.Context) {
	defer close(l.done)
	var conn *pgx.Conn
	tick := time.NewTicker(pace)
	defer tick.Stop()
	for ctx.Err() == nil {
		<-tick.C
		if l.rests() {
			continue
		}
		limited, cancel := context.WithTimeout(ctx, 3*time.Second)
		conn = l.insert(limited, conn)
		cancel()
	}
	if conn != nil {
		_ = conn.Close(context.Background())
	}
}

func (l *load) rests() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.warned = false
	return l.paused
}

// insert returns the connection, nil where it is of no use any more.
func (l *load) insert(ctx context.Context, conn *pgx.Conn) *pgx.Conn {
	var id int64
	var err error
	if conn == nil {
		conn, err = pgx.ConnectConfig(ctx, l.config)
	}
	if err == nil {
		err = conn.QueryRow(ctx, "INSERT INTO rowrun.task_run (task_id) VALUES ($1) RETURNING id", l.task).Scan(&id)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err == nil && !l.warned {
		l.acked[id] = time.Now()
		return conn
	}
	l.failed++
	if conn != nil {
		_ = conn.Close(ctx)
	}
	return nil
}

func (l *load) pause(yes bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.paused = yes
}

// taken are the acknowledged ids.
func (l *load) taken() []int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return sorted(l.acked)
}
