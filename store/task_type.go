package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// TypeRule says how a type of task goes.
type TypeRule struct {
	Type     string
	Draining bool            // nothing new of it is claimed
	AliasOf  string          // "": none; whose executor runs it
	Mapping  json.RawMessage // nil: none; top-level keys of the payload, {"old": "new"}, null leaves one out
}

// TypeRules reads the rules there are, up to 1,000.
func (s *Store) TypeRules(ctx context.Context) ([]TypeRule, error) {
	const q = `-- type_rules
SELECT type, draining, coalesce(alias_of, ''), mapping FROM rowrun.task_type ORDER BY type LIMIT 1000`
	return collect(ctx, s, "read type rules", q, pgx.RowToStructByPos[TypeRule])
}

// AnnounceTypes says which types a replica runs from now on.
func (s *Store) AnnounceTypes(ctx context.Context, replicaID string, types []string) error {
	const q = `-- announce_types
UPDATE rowrun.replica_heartbeat SET types = $2 WHERE replica_id = $1 AND state <> 'DEAD' AND types IS DISTINCT FROM $2`
	if _, err := s.pool.Exec(ctx, q, replicaID, list(types)); err != nil {
		return fmt.Errorf("announce types: %w", err)
	}
	return nil
}

// DrainType has replicas claim no further run of a type, or again.
func (s *Store) DrainType(ctx context.Context, name string, draining bool) error {
	const q = `-- drain_type
INSERT INTO rowrun.task_type AS t (type, draining) VALUES ($1, $2)
ON CONFLICT (type) DO UPDATE SET draining = excluded.draining, changed_at = now() WHERE t.draining <> excluded.draining`
	if _, err := s.pool.Exec(ctx, q, name, draining); err != nil {
		return fmt.Errorf("drain type: %w", err)
	}
	return nil
}

// AliasType has the executor of type to run runs of type from; to "": not any more. mapping may be nil.
func (s *Store) AliasType(ctx context.Context, from, to string, mapping json.RawMessage) error {
	const q = `-- alias_type
INSERT INTO rowrun.task_type (type, alias_of, mapping) VALUES ($1, nullif($2, ''), $3::jsonb)
ON CONFLICT (type) DO UPDATE SET alias_of = excluded.alias_of, mapping = excluded.mapping, changed_at = now()`
	var text *string
	if mapping != nil {
		m := string(mapping)
		text = &m
	}
	if _, err := s.pool.Exec(ctx, q, from, to, text); err != nil {
		return fmt.Errorf("alias type: %w", err)
	}
	return nil
}

// TypeLeft is what goes on of a type.
type TypeLeft struct {
	Replicas int64 // live replicas that claim runs of it
	Running  int64
}

// TypeLeft counts who still claims runs of a type, and which are RUNNING.
func (s *Store) TypeLeft(ctx context.Context, name string) (TypeLeft, error) {
	const q = `-- type_left
SELECT (SELECT count(*) FROM rowrun.replica_heartbeat h
        WHERE h.state = 'ACTIVE' AND h.last_heartbeat + h.lease > clock_timestamp() AND $1 = ANY (h.types)),
       (SELECT count(*) FROM rowrun.task_run r WHERE r.status = 'RUNNING' AND r.type = $1)`
	var left TypeLeft
	if err := s.pool.QueryRow(ctx, q, name).Scan(&left.Replicas, &left.Running); err != nil {
		return TypeLeft{}, fmt.Errorf("count what is left of a type: %w", err)
	}
	return left, nil
}

// TypeStatus is a type of tasks and how it stands.
type TypeStatus struct {
	Type      string          `json:"type"`
	Replicas  int64           `json:"replicas"` // live ones that run it
	Tasks     int64           `json:"tasks"`
	Pending   int64           `json:"pending"`
	Available int64           `json:"available"`
	Running   int64           `json:"running"`
	Orphans   int64           `json:"orphans"` // of those that wait, how many no live replica could run
	Draining  bool            `json:"draining"`
	AliasOf   *string         `json:"alias_of"`
	Mapping   json.RawMessage `json:"mapping"`
}

// ListTypes lists every type that a task, a run that isn't over, a live replica or a rule names. It reads all tasks and
// all runs that are not over.
func (s *Store) ListTypes(ctx context.Context) ([]TypeStatus, error) {
	const q = `-- list_types
WITH k AS (SELECT type, count(*) AS tasks FROM rowrun.task GROUP BY type),
r AS (SELECT type, count(*) FILTER (WHERE status = 'PENDING') AS pending, count(*) FILTER (WHERE status = 'AVAILABLE') AS available,
             count(*) FILTER (WHERE status = 'RUNNING') AS running
      FROM rowrun.task_run WHERE status IN ('PENDING', 'AVAILABLE', 'RUNNING') GROUP BY type),
h AS (SELECT t.type, count(*) AS replicas FROM rowrun.replica_heartbeat b CROSS JOIN unnest(b.types) t(type)
      WHERE b.state = 'ACTIVE' AND b.last_heartbeat + b.lease > clock_timestamp() GROUP BY t.type),
o AS (SELECT type, sum(pending + available)::bigint AS orphans FROM rowrun.orphan_task_run GROUP BY type)
SELECT a.type, coalesce(h.replicas, 0), coalesce(k.tasks, 0), coalesce(r.pending, 0), coalesce(r.available, 0), coalesce(r.running, 0),
       coalesce(o.orphans, 0), coalesce(e.draining, false), e.alias_of, e.mapping
FROM (SELECT type FROM k UNION SELECT type FROM r UNION SELECT type FROM h UNION
      SELECT type FROM rowrun.task_type WHERE draining OR alias_of IS NOT NULL) a
LEFT JOIN k USING (type) LEFT JOIN r USING (type) LEFT JOIN h USING (type) LEFT JOIN o USING (type)
LEFT JOIN rowrun.task_type e USING (type)
ORDER BY a.type`
	return collect(ctx, s, "list types", q, pgx.RowToStructByPos[TypeStatus])
}

// purgeBatch is how many runs PurgeType cancels in one transaction.
const purgeBatch = 500

// PurgeType cancels the PENDING and AVAILABLE runs of a type that were inserted that long ago; how many.
func (s *Store) PurgeType(ctx context.Context, name string, older time.Duration) (int64, error) {
	const q = `-- purge_type
SELECT coalesce(last_id, 0), found, canceled FROM rowrun.purge_type($1, make_interval(secs => $2), $3, $4)`
	var sum int64
	for after := int64(0); ; {
		var found, canceled int64
		if err := s.pool.QueryRow(ctx, q, name, seconds(older), after, purgeBatch).Scan(&after, &found, &canceled); err != nil {
			return sum, fmt.Errorf("purge type: %w", err)
		}
		sum += canceled
		if found < purgeBatch {
			return sum, nil
		}
	}
}

// CountPurge counts what PurgeType would cancel.
func (s *Store) CountPurge(ctx context.Context, name string, older time.Duration) (int64, error) {
	const q = `-- count_purge
SELECT count(*) FROM rowrun.task_run
WHERE type = $1 AND status IN ('PENDING', 'AVAILABLE') AND created_at <= clock_timestamp() - make_interval(secs => $2)`
	var n int64
	if err := s.pool.QueryRow(ctx, q, name, seconds(older)).Scan(&n); err != nil {
		return 0, fmt.Errorf("count runs of a type: %w", err)
	}
	return n, nil
}
