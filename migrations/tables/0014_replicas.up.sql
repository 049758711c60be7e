-- Slots that only runs of at least a priority take.
ALTER TABLE rowrun.replica_heartbeat ADD COLUMN reserve integer[];
COMMENT ON COLUMN rowrun.replica_heartbeat.reserve IS 'Slots of concurrency that only runs of at least a priority take: {50,4,100,2} are four from priority 50 on, and two more from 100 on. NULL: none.';
-- Targets that are not PostgreSQL.
ALTER TABLE rowrun.replica_heartbeat ADD COLUMN engines jsonb NOT NULL DEFAULT '{}'
    CONSTRAINT replica_heartbeat_engines_an_object CHECK (jsonb_typeof(engines) = 'object'::text);
COMMENT ON COLUMN rowrun.replica_heartbeat.engines IS 'The engines of its target databases that are not PostgreSQL, by name: {"shop": "MariaDB"}.';
ALTER TABLE rowrun.replica_heartbeat ADD COLUMN release smallint;
COMMENT ON COLUMN rowrun.replica_heartbeat.release IS 'Which release its program is of, as the manifest of the schema''s code counts them; NULL: the first, which knows no limits.';
-- Recoveries from an outage of the deployment, and room for runs of a type.
CREATE TABLE rowrun.recovery (
    id              bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    last_seen       timestamptz NOT NULL,
    began_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    backlog         bigint NOT NULL,
    remaining       bigint NOT NULL,
    started         bigint NOT NULL DEFAULT 0,
    rate            double precision NOT NULL DEFAULT 0,
    counted_at      timestamptz NOT NULL DEFAULT clock_timestamp(),
    counted_started bigint NOT NULL DEFAULT 0,
    moved_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    noted_at        timestamptz NOT NULL DEFAULT clock_timestamp(),
    paced_until     timestamptz NOT NULL DEFAULT clock_timestamp(),
    ended_at        timestamptz,
    CONSTRAINT recovery_counts_what_can_be CHECK (backlog >= 0 AND backlog <= 1000000000000 AND remaining >= 0 AND remaining <= 1000000000000
        AND started >= 0 AND started <= 1000000000000 AND counted_started >= 0 AND counted_started <= 1000000000000),
    CONSTRAINT recovery_rate_none_or_measurable CHECK (rate = 0 OR (rate >= 0.001 AND rate <= 1000000000000)),
    CONSTRAINT recovery_times_finite CHECK (isfinite(last_seen) AND isfinite(began_at) AND isfinite(counted_at) AND isfinite(moved_at)
        AND isfinite(noted_at) AND isfinite(paced_until))
) WITH (fillfactor = 50);
CREATE UNIQUE INDEX recovery_one ON rowrun.recovery ((true)) WHERE ended_at IS NULL;
COMMENT ON TABLE rowrun.recovery IS 'Recoveries from outages of the deployment, one at a time; kept for 90 days.';
COMMENT ON COLUMN rowrun.recovery.id IS 'Key.';
COMMENT ON COLUMN rowrun.recovery.last_seen IS 'When a replica that claims was last alive before.';
COMMENT ON COLUMN rowrun.recovery.began_at IS 'When the first replica was back. Runs that were due by then are its backlog.';
COMMENT ON COLUMN rowrun.recovery.backlog IS 'How many runs were due and not started when it began; counting ends at 100,000.';
COMMENT ON COLUMN rowrun.recovery.remaining IS 'How many of them still are, of those that a live replica takes, as last counted.';
COMMENT ON COLUMN rowrun.recovery.started IS 'How many runs replicas have started since, of the backlog or not.';
COMMENT ON COLUMN rowrun.recovery.rate IS 'How many runs of the backlog were started per second lately.';
COMMENT ON COLUMN rowrun.recovery.counted_at IS 'When it was last counted.';
COMMENT ON COLUMN rowrun.recovery.counted_started IS 'Internal: started as of then.';
COMMENT ON COLUMN rowrun.recovery.moved_at IS 'Internal: when the backlog last became smaller.';
COMMENT ON COLUMN rowrun.recovery.noted_at IS 'Internal: when the stream last told of it.';
COMMENT ON COLUMN rowrun.recovery.paced_until IS 'Internal: until when the runs that were started are accounted for, where their rate has a cap.';
COMMENT ON COLUMN rowrun.recovery.ended_at IS 'When the backlog was gone, or nobody took what was left; NULL: it is under way.';
ALTER TABLE rowrun.deployment ADD COLUMN last_alive_at timestamptz;
COMMENT ON COLUMN rowrun.deployment.last_alive_at IS 'When a replica that claims, and whose row is gone, was last alive; NULL: not known.';
ALTER TABLE rowrun.replica_heartbeat ADD COLUMN type_concurrency jsonb NOT NULL DEFAULT '{}';
COMMENT ON COLUMN rowrun.replica_heartbeat.type_concurrency IS 'How many runs of a type it executes at once where that is less than its slots, by type; "*": of each other type.';
-- As in the baseline: text that has no equivalent in UTF-8 is refused where it comes in.
DO $$
BEGIN
    IF pg_catalog.getdatabaseencoding() NOT IN ('UTF8', 'SQL_ASCII') THEN
        ALTER TABLE rowrun.replica_heartbeat ADD CONSTRAINT replica_heartbeat_type_concurrency_in_utf8
            CHECK (pg_catalog.octet_length(pg_catalog.convert_to(type_concurrency::text, 'UTF8')) >= 0);
    END IF;
END $$;
