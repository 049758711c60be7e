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
	return collect(ctx, s, "read notes", statement("unprinted_notes"), pgx.RowToStructByPos[Note], noteBatch)
}

// NotesPrinted records that lines were written for notes.
func (s *Store) NotesPrinted(ctx context.Context, ids []int64) error {
	if _, err := s.pool.Exec(ctx, statement("notes_printed"), ids); err != nil {
		return fmt.Errorf("record printed notes: %w", err)
	}
	return nil
}

// RemoveOldNotes removes notes that are older than a week, printed or not; how many.
func (s *Store) RemoveOldNotes(ctx context.Context) (int64, error) {
	tag, err := s.pool.Exec(ctx, statement("remove_old_notes"))
	if err != nil {
		return 0, fmt.Errorf("remove old notes: %w", err)
	}
	return tag.RowsAffected(), nil
}

// NoteStalled has the stream say that a run reported no progress in time.
func (s *Store) NoteStalled(ctx context.Context, runID int64) error {
	if _, err := s.pool.Exec(ctx, statement("record_stalled"), []int64{runID}); err != nil {
		return fmt.Errorf("note stalled run: %w", err)
	}
	return nil
}

// NoteOrphans looks for types of runs that wait and that no live replica could run, and has the stream say what
// changed: of those that have been so for that long (patience), once and then daily. However many replicas ask, it looks
// once in every. How many notes were written.
func (s *Store) NoteOrphans(ctx context.Context, patience, every time.Duration) (int, error) {
	var notes int
	if err := s.pool.QueryRow(ctx, statement("record_orphans"), seconds(patience), seconds(every)).Scan(&notes); err != nil {
		return 0, fmt.Errorf("look for orphans: %w", err)
	}
	return notes, nil
}
