package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Note is something that the stream says besides transitions.
type Note struct {
	ID      int64
	At      time.Time
	Level   string // info or warn
	Event   string
	Message string
	Detail  json.RawMessage // a JSON object: the line's other members
}

// noteBatch is how many notes are read at once.
const noteBatch = 100

// UnprintedNotes reads the oldest notes that no line was written for, up to 100.
func (s *Store) UnprintedNotes(ctx context.Context) ([]Note, error) {
	const q = `-- unprinted_notes
SELECT id, created_at, level, event, message, detail FROM rowrun.stream_note WHERE printed_at IS NULL ORDER BY id LIMIT $1`
	rows, err := s.pool.Query(ctx, q, noteBatch)
	if err != nil {
		return nil, fmt.Errorf("read notes: %w", err)
	}
	notes, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Note])
	if err != nil {
		return nil, fmt.Errorf("read notes: %w", err)
	}
	return notes, nil
}

// NotesPrinted records that lines were written for notes.
func (s *Store) NotesPrinted(ctx context.Context, ids []int64) error {
	const q = `-- notes_printed
UPDATE rowrun.stream_note SET printed_at = clock_timestamp() WHERE id = ANY ($1)`
	if _, err := s.pool.Exec(ctx, q, ids); err != nil {
		return fmt.Errorf("record printed notes: %w", err)
	}
	return nil
}

// RemoveOldNotes removes notes that are older than a week, printed or not; how many.
func (s *Store) RemoveOldNotes(ctx context.Context) (int64, error) {
	const q = `-- remove_old_notes
DELETE FROM rowrun.stream_note WHERE created_at < clock_timestamp() - interval '7 days'`
	tag, err := s.pool.Exec(ctx, q)
	if err != nil {
		return 0, fmt.Errorf("remove old notes: %w", err)
	}
	return tag.RowsAffected(), nil
}

// stalledNote says that runs reported no progress in time; $1 are their ids.
const stalledNote = `-- note_stalled
INSERT INTO rowrun.stream_note (event, message, detail)
SELECT 'task_run.stalled', 'task run stalled', jsonb_build_object('run_id', r.id, 'root_id', r.root_id, 'task_id', r.task_id, 'task', k.name,
    'type', r.type, 'plan_id', r.plan_id, 'attempt', r.attempt, 'replica_id', r.replica_id, 'progress_at', r.progress_at,
    'silent_ms', (extract(epoch FROM clock_timestamp() - coalesce(r.progress_at, r.started_at)) * 1000)::bigint)
FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id WHERE r.id = ANY ($1::bigint[])`

// NoteStalled has the stream say that a run reported no progress in time.
func (s *Store) NoteStalled(ctx context.Context, runID int64) error {
	if _, err := s.pool.Exec(ctx, stalledNote, []int64{runID}); err != nil {
		return fmt.Errorf("note stalled run: %w", err)
	}
	return nil
}

// NoteOrphans looks for types of runs that wait and that no live replica could run, and has the stream say what
// changed: of those that have been so for that long (patience), once and then daily. However many replicas ask, it looks
// once in every. How many notes were written.
func (s *Store) NoteOrphans(ctx context.Context, patience, every time.Duration) (int, error) {
	const q = `-- note_orphans
SELECT rowrun.note_orphans(make_interval(secs => $1), make_interval(secs => $2))`
	var notes int
	if err := s.pool.QueryRow(ctx, q, seconds(patience), seconds(every)).Scan(&notes); err != nil {
		return 0, fmt.Errorf("look for orphans: %w", err)
	}
	return notes, nil
}
