package dbexec

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/rowrun/rowrun/scheduler"
)

// A server of MySQL's kind executes a statement to its end, whether or not somebody waits for the answer. So each session of a run
// holds a lock (GET_LOCK), named after its job or version, as long as the server keeps it: who holds the lock is the session that an
// earlier attempt left behind. Only one attempt at a time is RUNNING: the run that the session belonged to has ended.
//
//	a transaction, or SQL            it is killed: the server rolls back, this attempt begins anew
//	idle, or a statement of a        it is killed: no work is lost that the server would keep
//	version in a transaction
//	a statement of a version that    it is let end, as its work would be lost, and the ledger goes on from there. Where the wait
//	commits by itself                is ended by a cancel or a timeout, it is killed after all

func (e *mysqlEngine) alone(ctx context.Context, s *session, name string, kill bool, say func(string)) error {
	name = lockName(e.config.DBName, name) // a server has one set of names for all its databases
	said := ""
	for {
		got, err := s.value(ctx, "SELECT GET_LOCK(?, 0)", name)
		if err != nil {
			return fmt.Errorf("lock the job on the server: %w", err)
		}
		if got == "1" {
			s.lock = name
			return nil
		}
		other, err := e.holder(ctx, s, name)
		if err != nil {
			return err
		}
		end := kill || other.idle || isUndone(other.text)
		if other.id != "" && said != other.id {
			said = other.id
			if end {
				say("session " + other.id + " of an earlier attempt is still there, and is ended")
			} else {
				say("session " + other.id + " of an earlier attempt still executes: " + other.text)
			}
		}
		if other.id != "" && end {
			_ = e.kill(ctx, s, other.id)
		}
		select {
		case <-ctx.Done():
			why := context.Cause(ctx)
			if other.id != "" && (errors.Is(why, scheduler.ErrCanceled) || errors.Is(why, scheduler.ErrTimeout) || errors.Is(why, scheduler.ErrStalled)) {
				last, cancel := context.WithTimeout(context.WithoutCancel(ctx), terminateLimit)
				defer cancel()
				_ = e.kill(last, s, other.id)
			}
			return fmt.Errorf("wait for session %s of an earlier attempt: %w", other.id, why)
		case <-time.After(askEvery):
		}
	}
}

// isUndone is true for what a session executes if the server rolls it back when it finds its client gone. What the text doesn't tell
// (it isn't one of ours, as within a procedure) is not.
func isUndone(text string) bool {
	if !strings.HasPrefix(text, "/* rowrun:") {
		return false
	}
	c := cutter{text: text, start: -1, head: -1}
	for t, err := range mysqlTokens(text) {
		if err != nil {
			break // the server shows the beginning only
		}
		c.add(t)
	}
	s := statement{tokens: c.tokens}
	n := mysqlNature(&s)
	return len(s.tokens) > 0 && !n.commits && !n.opaque && n.control == controlNone
}

// process is a session as the server shows it.
type process struct {
	id, text string
	idle     bool
}

// holder finds who holds a lock; no id: nobody any more.
func (e *mysqlEngine) holder(ctx context.Context, s *session, name string) (process, error) {
	id, err := s.value(ctx, "SELECT IS_USED_LOCK(?)", name)
	if err != nil {
		return process{}, fmt.Errorf("look who holds the lock of the job: %w", err)
	}
	p, err := e.process(ctx, s, id)
	if p.id == "" {
		p.id = id // one that this login may not see
	}
	return p, err
}

// process looks for a session; no id: it isn't there.
func (e *mysqlEngine) process(ctx context.Context, s *session, id string) (process, error) {
	if id == "" {
		return process{}, nil
	}
	rows, err := s.query(ctx, "SHOW PROCESSLIST")
	if err != nil {
		return process{}, fmt.Errorf("look at the server's sessions: %w", err)
	}
	for _, row := range rows {
		if row["Id"] == id {
			return process{id: id, text: cut(row["Info"], 100), idle: row["Command"] == "Sleep"}, nil
		}
	}
	return process{}, nil
}

// kill ends a session. Where this login may not, it stays, and is waited for: while a procedure of another definer is executed, the
// session is the definer's.
func (e *mysqlEngine) kill(ctx context.Context, s *session, id string) error {
	_, err := s.conn.ExecContext(ctx, "KILL CONNECTION "+id)
	return err
}

// stop asks the server to end the statement, again and again, as a request that reaches it before the statement does is lost; at last
// it ends the session.
func (e *mysqlEngine) stop(ctx context.Context, s *session, done <-chan struct{}) error {
	polite, cancel := context.WithTimeout(ctx, stopLimit)
	defer cancel()
	for polite.Err() == nil {
		_ = e.beside(polite, s, func(ctx context.Context, other *session) error {
			for {
				if there, err := e.isThere(ctx, other, s); err != nil || !there {
					return err
				}
				if _, err := other.conn.ExecContext(ctx, "KILL QUERY "+s.id); err != nil && e.read(err) == nil {
					return err
				}
				select {
				case <-done:
					return nil
				case <-ctx.Done():
					return ctx.Err()
				case <-time.After(askEvery):
				}
			}
		})
		select {
		case <-done:
			return nil
		case <-polite.Done():
		case <-time.After(askEvery):
		}
	}
	forced, cancel := context.WithTimeout(ctx, terminateLimit)
	defer cancel()
	return e.gone(forced, s)
}

// gone returns nil once the session is not on the server any more, after asking it to end: what it did is then decided.
func (e *mysqlEngine) gone(ctx context.Context, s *session) error {
	for pause := askEvery; ; pause = min(2*pause, 2*time.Second) {
		err := e.beside(ctx, s, func(ctx context.Context, other *session) error {
			for {
				there, err := e.isThere(ctx, other, s)
				if err != nil || !there {
					return err
				}
				refused := e.kill(ctx, other, s.id)
				select {
				case <-ctx.Done():
					if r := e.read(refused); r != nil {
						return errors.New(r.text)
					}
					return ctx.Err()
				case <-time.After(askEvery):
				}
			}
		})
		if err == nil || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
		}
	}
}

// isThere is true while the server has the session. A server that was started again may have given its number to another one: it is
// known by its lock, or by the name in what it executes.
func (e *mysqlEngine) isThere(ctx context.Context, other, s *session) (bool, error) {
	if s.lock != "" {
		id, err := other.value(ctx, "SELECT IS_USED_LOCK(?)", s.lock)
		if err != nil || id == s.id {
			return id == s.id, err
		}
	}
	p, err := e.process(ctx, other, s.id)
	return p.id != "" && strings.HasPrefix(p.text, e.sent(s, "")), err
}

// beside calls f with a second session on the server that the first one leads to.
func (e *mysqlEngine) beside(ctx context.Context, s *session, f func(context.Context, *session) error) error {
	dial, cancel := context.WithTimeout(ctx, connectLimit)
	defer cancel()
	other, err := e.dial(dial, s.target, s.label+" end", s.peer)
	if err != nil {
		return err
	}
	defer other.close(ctx)
	return f(ctx, other)
}
