package simulation

import (
	"context"
	"net"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/rowrun/rowrun/store"
)

// session is a connection of a listener: PostgreSQL's side of it, over a pipe.
type session struct {
	db      *database
	process *process
	conn    net.Conn
	dice    *dice
	listens map[string]bool
	came    chan struct{}
	queue   []message
	last    time.Time
	closed  bool
	left    bool          // the listener has closed it, whether or not the server knows
	gone    chan struct{} // closed with it
}

type message struct {
	at    time.Time
	parts []pgproto3.BackendMessage
}

// parsed is read once, and not in a schedule: pgx looks into files for it.
var parsed = func() *pgx.ConnConfig { //nolint:gochecknoglobals // never changed
	config, err := pgx.ParseConfig("host=simulated user=rowrun dbname=rowrun sslmode=disable")
	if err != nil {
		panic(err)
	}
	return config
}()

// connConfig leads a listener to the simulated server.
func (p *process) connConfig() *pgx.ConnConfig {
	config := parsed.Copy()
	config.LookupFunc = func(_ context.Context, host string) ([]string, error) { return []string{host}, nil }
	config.DefaultQueryExecMode = pgx.QueryExecModeExec // a statement is one trip
	config.DialFunc = func(ctx context.Context, _, _ string) (net.Conn, error) { return p.dial(ctx) }
	return config
}

func (p *process) dial(ctx context.Context) (net.Conn, error) {
	p.dials++
	d := roll(p.s.seed, uint64(p.index), textOf("dial"), p.dials) //nolint:gosec // few
	if err := pause(ctx, d.between(50*time.Microsecond, time.Millisecond)); err != nil {
		return nil, err
	}
	db := p.s.db
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.down || p.cutOff.now() {
		p.s.count("listener not connected")
		return nil, errReset
	}
	ours, theirs := net.Pipe()
	one := &session{db: db, process: p, conn: theirs, dice: d, listens: map[string]bool{}, came: make(chan struct{}, 1), gone: make(chan struct{})}
	db.sessions = append(db.sessions, one)
	p.s.running.Go(one.read)
	p.s.running.Go(one.write)
	one.giveUp()
	return ours, nil
}

// read answers what the listener asks.
func (s *session) read() {
	defer s.leave()
	backend := pgproto3.NewBackend(s.conn, s.conn)
	if _, err := backend.ReceiveStartupMessage(); err != nil {
		return
	}
	s.send(&pgproto3.AuthenticationOk{}, &pgproto3.ParameterStatus{Name: "server_encoding", Value: "UTF8"},
		&pgproto3.BackendKeyData{ProcessID: 1, SecretKey: []byte{0, 0, 0, 1}}, &pgproto3.ReadyForQuery{TxStatus: 'I'})
	var asked string
	var with []string
	for {
		m, err := backend.Receive()
		if err != nil {
			return
		}
		if s.process.cutOff.now() { // it comes when the network is there again
			_ = pause(context.Background(), time.Until(s.process.cutOff.end()))
		}
		switch m := m.(type) {
		case *pgproto3.Query:
			s.execute(m.String)
		case *pgproto3.Parse:
			asked = m.Query
		case *pgproto3.Bind:
			with = with[:0]
			for _, one := range m.Parameters {
				with = append(with, string(one))
			}
		case *pgproto3.Sync:
			s.answer(asked, with)
		case *pgproto3.Terminate:
			return
		}
	}
}

// execute is a statement in the simple protocol.
func (s *session) execute(sql string) {
	if strings.HasPrefix(sql, "-- release_stream\n") {
		s.releaseStream()
	}
	verb, channel, _ := strings.Cut(strings.TrimSpace(sql), " ")
	channel = strings.Trim(channel, `"`)
	s.db.mu.Lock()
	switch verb {
	case "listen":
		s.listens[channel] = true
	case "unlisten":
		delete(s.listens, channel)
	case "notify":
		for _, one := range s.db.sessions {
			one.hear(channel, pidOf(s.process.index), "")
		}
	}
	s.db.mu.Unlock()
	if verb == "" || strings.HasPrefix(verb, "--") {
		s.send(&pgproto3.EmptyQueryResponse{}, &pgproto3.ReadyForQuery{TxStatus: 'I'})
		return
	}
	s.send(&pgproto3.CommandComplete{CommandTag: []byte(strings.ToUpper(verb))}, &pgproto3.ReadyForQuery{TxStatus: 'I'})
}

// answer is one in the extended protocol: how full the queue of notifications is, the lock of the stream, or settings.
func (s *session) answer(sql string, with []string) {
	parts := []pgproto3.BackendMessage{&pgproto3.ParseComplete{}, &pgproto3.BindComplete{}}
	column := func(name string, oid uint32, size int16) pgproto3.FieldDescription {
		return pgproto3.FieldDescription{Name: []byte(name), DataTypeOID: oid, DataTypeSize: size, TypeModifier: -1}
	}
	switch {
	case strings.Contains(sql, "pg_notification_queue_usage"):
		parts = append(parts, &pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{column("usage", 701, 8)}},
			&pgproto3.DataRow{Values: [][]byte{[]byte("0")}})
	case strings.HasPrefix(sql, "-- claim_stream\n"):
		held, writer := s.claimStream()
		parts = append(parts, &pgproto3.RowDescription{Fields: []pgproto3.FieldDescription{
			column("held", 16, 1), column("writer", 25, -1), column("now", 1184, 8), column("snapshot", 25, -1),
		}},
			&pgproto3.DataRow{Values: [][]byte{[]byte(held), []byte(writer), []byte("2000-01-01 00:00:00+00"), []byte("3:3:")}}) // only a reader of the log uses them
	case strings.HasPrefix(sql, "-- name_stream_writer\n"):
		s.nameStreamWriter(with[0])
		parts = append(parts, &pgproto3.NoData{})
	default:
		parts = append(parts, &pgproto3.NoData{})
	}
	s.send(append(parts, &pgproto3.CommandComplete{CommandTag: []byte("SELECT 1")}, &pgproto3.ReadyForQuery{TxStatus: 'I'})...)
}

// send queues an answer.
func (s *session) send(parts ...pgproto3.BackendMessage) {
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	s.push(s.dice.between(20*time.Microsecond, 400*time.Microsecond), parts)
}

// push is called with the database's mu held. What a session is sent comes in order.
func (s *session) push(after time.Duration, parts []pgproto3.BackendMessage) {
	if s.closed {
		return
	}
	at := time.Now().Add(after)
	if at.Before(s.last) {
		at = s.last
	}
	s.last = at
	s.queue = append(s.queue, message{at, parts})
	select {
	case s.came <- struct{}{}:
	default:
	}
}

// hear is called with the database's mu held; false: it doesn't.
func (s *session) hear(channel string, pid uint32, payload string) bool {
	if !s.listens[channel] {
		return false
	}
	if s.process.deaf.now() {
		s.db.s.count("notification lost")
		return false
	}
	after := s.dice.between(20*time.Microsecond, s.db.s.hearing)
	said := []pgproto3.BackendMessage{&pgproto3.NotificationResponse{PID: pid, Channel: channel, Payload: payload}}
	s.push(after, said)
	if s.db.s.faulty() && s.dice.chance(0.05) {
		s.db.s.count("notification twice")
		s.push(after, said)
	}
	return true
}

// notify tells every session that listens; false: who writes the stream didn't hear it.
func (db *database) notify(pid uint32, payload string) (heard bool) {
	heard = true
	for _, one := range db.sessions {
		if !one.hear(store.Channel, pid, payload) && one == db.stream.lock {
			heard = false
		}
	}
	return heard
}

func (s *session) write() {
	backend := pgproto3.NewBackend(nil, s.conn)
	for {
		s.db.mu.Lock()
		if s.closed {
			s.db.mu.Unlock()
			return
		}
		var next message
		some := len(s.queue) > 0
		if some {
			next, s.queue = s.queue[0], s.queue[1:]
		}
		s.db.mu.Unlock()
		if !some {
			<-s.came
			continue
		}
		_ = pause(context.Background(), time.Until(next.at))
		if s.process.thawed(context.Background()) != nil {
			return
		}
		_ = pause(context.Background(), time.Until(s.process.cutOff.end()))
		for _, part := range next.parts {
			backend.Send(part)
		}
		if backend.Flush() != nil {
			s.close()
		}
	}
}

// cut ends the session, as the server or the network does. mu is held.
func (s *session) cut() {
	if s.closed {
		return
	}
	s.closed = true
	close(s.gone)
	s.db.stream.ended(s)
	for i, one := range s.db.sessions {
		if one == s {
			s.db.sessions = append(s.db.sessions[:i], s.db.sessions[i+1:]...)
			break
		}
	}
	if end := s.process.cutOff.end(); !end.IsZero() && !s.left { // the other side doesn't hear of it before
		s.process.s.running.Go(func() {
			_ = pause(context.Background(), time.Until(end))
			_ = s.conn.Close()
		})
	} else {
		_ = s.conn.Close()
	}
	select {
	case s.came <- struct{}{}:
	default:
	}
}

func (s *session) close() {
	s.db.mu.Lock()
	defer s.db.mu.Unlock()
	s.cut()
}

// leave is what becomes of a session that the listener has closed: the server hears of it, or gives it up.
func (s *session) leave() {
	s.db.mu.Lock()
	s.left = true
	closed := s.closed
	s.db.mu.Unlock()
	if end := s.process.cutOff.end(); !closed && !end.IsZero() {
		s.process.s.count("stream: session that the server goes on with alone")
		s.wait(time.Until(end))
	}
	s.close()
}

// wait returns when a time is over, or with the session.
func (s *session) wait(d time.Duration) (over bool) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-s.gone:
		return false
	}
}

// giveUp ends the session where the network is away for longer than the server waits for an answer.
func (s *session) giveUp() {
	for _, part := range s.process.cutOff.all {
		at := time.Until(s.process.s.began.Add(part.from + serverPatience))
		if part.to-part.from <= serverPatience || at < 0 {
			continue
		}
		s.process.s.running.Go(func() {
			if s.wait(at) {
				s.process.s.count("session given up by the server")
				s.close()
			}
		})
	}
}

// serverPatience is how long the server keeps a session whose other side is silent, as events.Listener has it set.
const serverPatience = 10*time.Second + 500*time.Millisecond
