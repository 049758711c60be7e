package dbexec

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The ledger stands in each target, as the table rowrun_migration_ledger: one row per deployment, task and version.
//
//	no row ──▶ DONE                 in one transaction with the statements
//	no row ──▶ STARTED ──▶ DONE     before the first, after the last statement
//	no row ──▶ STARTED              a statement committed the transaction, though nothing in its text says so; begun names it
//	STARTED ──▶ no row              no statement has taken effect
//	STARTED ──▶ STARTED             the next attempt goes on behind the statements that are applied
//
// applied counts the statements that took effect, applied_sha256 is their hash: a text that was mended behind them goes on there.
// begun is the number of a statement that commits by itself, or may, and that was sent; where its end is known, begun is NULL again.
// SET and USE before it may be sent and not be counted: it is not always the one behind those that are applied.
const ledgerName = "rowrun_migration_ledger"

// ledgerText is the ledger's statements on an engine.
type ledgerText struct {
	exists string   // a value where it stands
	create []string // where it doesn't
	doubt  string   // why it can't be used; "" and no row: it can
	read   string
	insert string
	again  string
	count  string
	mark   string
	done   string
	remove string
}

// ledgerOf returns the statements that are the same everywhere. now is the time of the moment, lock what keeps a row that is read.
func ledgerOf(table, now, lock string) *ledgerText {
	const row = ` WHERE deployment = ? AND task_id = ? AND version = ?`
	return &ledgerText{
		read: `SELECT status, sha256, run_id, applied, applied_sha256, coalesce(begun, 0) AS begun, coalesce(finished_at, started_at) AS moment
  FROM ` + table + row + lock,
		insert: `INSERT INTO ` + table + ` (deployment, task_id, version, sha256, run_id, status, applied, applied_sha256, started_at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ` + now + `)`,
		again: `UPDATE ` + table + `
   SET sha256 = ?, run_id = ?, status = ?, applied = ?, applied_sha256 = ?, begun = CASE WHEN ? THEN begun END, started_at = ` + now + row + ` AND status = 'STARTED'`,
		count:  `UPDATE ` + table + ` SET applied = ?, applied_sha256 = ?, begun = ?` + row + ` AND run_id = ?`,
		mark:   `UPDATE ` + table + ` SET begun = ?` + row + ` AND run_id = ?`,
		done:   `UPDATE ` + table + ` SET status = 'DONE', begun = NULL, finished_at = ` + now + row + ` AND run_id = ?`,
		remove: `DELETE FROM ` + table + row + ` AND run_id = ? AND status = 'STARTED' AND applied = 0 AND begun IS NULL`,
	}
}

const (
	statusStarted = "STARTED"
	statusDone    = "DONE"
)

// ledgerKey names a row of the ledger, and the run and text that want it.
type ledgerKey struct {
	deployment string
	task       int64
	version    string
	hash       string
	run        int64
}

func (k *ledgerKey) row() []any { return []any{k.deployment, k.task, k.version} }

// entry is a row of the ledger.
type entry struct {
	status, hash, at string
	run              int64
	applied, begun   int
	appliedHash      string
}

// createLedger makes sure that the target has its ledger.
func (s *session) createLedger(ctx context.Context) error {
	l := s.engine.ledger(s.target)
	found, err := s.value(ctx, l.exists)
	if err != nil {
		return fmt.Errorf("look for the ledger %s: %w", ledgerName, err)
	}
	if found == "" {
		for _, text := range l.create {
			if _, err := s.do(ctx, text); err != nil {
				return fmt.Errorf("create the ledger %s: %w", ledgerName, err)
			}
		}
	}
	doubt, err := s.value(ctx, l.doubt)
	if err != nil {
		return fmt.Errorf("look at the ledger %s: %w", ledgerName, err)
	}
	if doubt != "" {
		return fmt.Errorf("the ledger %s is not used: %s. Look at it, then take that away", ledgerName, doubt)
	}
	return nil
}

func (s *session) read(ctx context.Context, k *ledgerKey) (*entry, error) {
	rows, err := s.query(ctx, s.engine.ledger(s.target).read, k.row()...)
	if err != nil {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	if len(rows) == 0 {
		return nil, nil
	}
	e := &entry{status: rows[0]["status"], hash: rows[0]["sha256"], appliedHash: rows[0]["applied_sha256"], at: rows[0]["moment"]}
	run, err1 := strconv.ParseInt(rows[0]["run_id"], 10, 64)
	applied, err2 := strconv.Atoi(rows[0]["applied"])
	begun, err3 := strconv.Atoi(rows[0]["begun"])
	if err := errors.Join(err1, err2, err3); err != nil {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	e.run, e.applied, e.begun = run, applied, begun
	return e, nil
}

// change sends a statement of the ledger that has to find its row.
func (s *session) change(ctx context.Context, text string, args ...any) error {
	rows, err := s.do(ctx, text, args...)
	if err != nil {
		return fmt.Errorf("write the ledger: %w", err)
	}
	if rows == 0 {
		return errors.New("write the ledger: its row was removed, or another run has it")
	}
	return nil
}

// hashOf is the hash of the first n statements; "" of none.
func hashOf(statements []statement, n int) string {
	if n == 0 {
		return ""
	}
	sum := sha256.New()
	for i := range statements[:n] {
		text := statements[i].text[statements[i].head:]
		_, _ = fmt.Fprintf(sum, "%d ", len(text))
		sum.Write([]byte(text))
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// normalVersion gives equal versions one spelling: 1.0 and 01 are 1.
func normalVersion(version string) string {
	parts := strings.Split(version, ".")
	for i, part := range parts {
		parts[i] = strings.TrimLeft(part, "0")
		if parts[i] == "" {
			parts[i] = "0"
		}
	}
	for len(parts) > 1 && parts[len(parts)-1] == "0" {
		parts = parts[:len(parts)-1]
	}
	return strings.Join(parts, ".")
}
