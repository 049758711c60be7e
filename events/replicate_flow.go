package events

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/jackc/pglogrepl"
)

const (
	// confirmEvery is how soon a new position is reported.
	confirmEvery = 100 * time.Millisecond
	// pieceRows is how many rows of one transaction are handed on at once: it may have millions. Large ones are fewer.
	pieceRows = 1000
	// stallAfter is how long the buffer may be full before Stalled says so.
	stallAfter = time.Second
)

// Next waits for committed transactions and returns all that have been received.
// Its errors are those of ctx, errClosed after Run has ended well, and Run's error.
func (r *Replication) Next(ctx context.Context) ([]Tx, error) {
	for {
		r.mu.Lock()
		txs, ended := r.pending, r.ended
		r.pending, r.held, r.heldBytes, r.stalled = nil, 0, 0, time.Time{}
		for i := range txs {
			r.taken = max(r.taken, txs[i].End)
		}
		r.mu.Unlock()
		switch {
		case len(txs) > 0:
			signal(r.room)
			return txs, nil
		case ended != nil:
			return nil, ended
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-r.signal:
		}
	}
}

// Confirm says that everything up to the end of a transaction is where it was
// meant to go: the server may forget it.
func (r *Replication) Confirm(end LSN) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.confirmed = max(r.confirmed, end)
	r.advance()
	_ = r.link.conn.PgConn().Conn().SetReadDeadline(time.Unix(1, 0)) // Run looks when to report
}

// Position says up to where everything was received, and up to where it was confirmed.
func (r *Replication) Position() (received, confirmed LSN) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.received, r.confirmed
}

// Stalled says that nothing has been read from the server for a second, as
// nobody takes what was: who relies on being woken must not, any more.
func (r *Replication) Stalled() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.stalled.IsZero() && time.Since(r.stalled) > stallAfter
}

// Full says that nothing is read from the server, as nobody takes what was.
func (r *Replication) Full() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.stalled.IsZero()
}

// advance confirms what concerns nobody here: log that held no rows of ours. Called with mu held.
func (r *Replication) advance() {
	if len(r.pending) == 0 && r.confirmed >= r.taken {
		r.confirmed = max(r.confirmed, r.received)
	}
}

func (r *Replication) handle(data []byte) error {
	if len(data) == 0 {
		return fmt.Errorf("%w: empty", errPgoutput)
	}
	switch data[0] {
	case pglogrepl.XLogDataByteID:
		m, err := pglogrepl.ParseXLogData(data[1:])
		if err != nil {
			return fmt.Errorf("%w: log", errPgoutput)
		}
		return r.decode(m.WALData)
	case pglogrepl.PrimaryKeepaliveMessageByteID:
		m, err := pglogrepl.ParsePrimaryKeepaliveMessage(data[1:])
		if err != nil {
			return fmt.Errorf("%w: sign of life", errPgoutput)
		}
		r.asked = r.asked || m.ReplyRequested
		if !r.open {
			r.mu.Lock()
			r.received = max(r.received, m.ServerWALEnd)
			r.advance()
			r.mu.Unlock()
		}
		return nil
	}
	return fmt.Errorf("%w: neither log nor sign of life", errPgoutput)
}

func (r *Replication) decode(data []byte) error {
	message, err := r.decoder.decode(data)
	if err != nil {
		return err
	}
	switch m := message.(type) {
	case *pglogrepl.BeginMessage:
		r.tx, r.open = Tx{LSN: m.FinalLSN, Time: m.CommitTime}, true
	case *Row:
		if r.config.Trim != nil {
			r.config.Trim(m)
		}
		r.tx.Rows = append(r.tx.Rows, *m)
		r.txBytes += m.bytes()
		if len(r.tx.Rows) == pieceRows || r.txBytes >= r.config.BufferBytes {
			r.push(r.tx)
			r.tx.Rows = nil
		}
	case *pglogrepl.CommitMessage:
		r.tx.LSN, r.tx.End, r.tx.Time = m.CommitLSN, m.TransactionEndLSN, m.CommitTime
		r.commit()
	}
	return nil
}

func (r *Replication) commit() {
	tx := r.tx
	r.tx, r.open = Tx{}, false
	r.push(tx)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.received = max(r.received, tx.End)
	r.advance()
}

// push hands rows on. A last piece without rows matters only behind others.
func (r *Replication) push(tx Tx) {
	bytes := r.txBytes
	r.txBytes = 0
	inserted := false
	for i := range tx.Rows {
		inserted = inserted || tx.Rows[i].Inserted
	}
	if inserted && r.config.Inserted != nil {
		r.config.Inserted()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(tx.Rows) == 0 && !r.cut {
		return
	}
	r.cut = tx.End == 0
	r.pending = append(r.pending, tx)
	r.held += len(tx.Rows)
	r.heldBytes += bytes
	signal(r.signal)
}

// waitForRoom waits while the buffer is full, but no longer than until the next report. It says whether there is room.
func (r *Replication) waitForRoom(ctx context.Context) bool {
	r.mu.Lock()
	full := r.held >= r.config.Buffer || r.heldBytes >= r.config.BufferBytes
	filled := full && r.stalled.IsZero()
	if filled {
		r.stalled = time.Now()
	}
	due := r.due()
	r.mu.Unlock()
	if filled && r.config.Filled != nil {
		r.config.Filled()
	}
	if !full {
		return true
	}
	r.heard = time.Now() // nobody listened
	timer := time.NewTimer(time.Until(due))
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-r.room:
		return true
	}
	return false
}

// due is when the next report must go out. Called with mu held.
func (r *Replication) due() time.Time {
	switch {
	case r.asked:
		return r.last
	case r.confirmed > r.reported:
		return r.last.Add(confirmEvery)
	}
	return r.last.Add(r.config.SenderTimeout / 4)
}

// setDeadline bounds the next read. Confirm and the end of ctx come before it or cut the read short.
func (r *Replication) setDeadline(ctx context.Context, conn net.Conn) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	return conn.SetReadDeadline(r.due())
}

func (r *Replication) interrupt() {
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = r.link.conn.PgConn().Conn().SetReadDeadline(time.Unix(1, 0)) // a connection that is closed needs none
}

// report tells the server what was confirmed, where that is due or now.
func (r *Replication) report(conn net.Conn, now bool) error {
	r.mu.Lock()
	due, confirmed := r.due(), r.confirmed
	r.mu.Unlock()
	if !now && time.Now().Before(due) {
		return nil
	}
	if err := conn.SetWriteDeadline(time.Now().Add(r.config.SenderTimeout / 2)); err != nil {
		return err
	}
	// An answer is asked for: silence means that the server is gone.
	err := pglogrepl.SendStandbyStatusUpdate(context.Background(), r.link.conn.PgConn(),
		pglogrepl.StandbyStatusUpdate{WALWritePosition: confirmed, ReplyRequested: true})
	if err != nil {
		return fmt.Errorf("report position: %w", err)
	}
	r.reported, r.last, r.asked = confirmed, time.Now(), false
	return nil
}
