DELETE FROM rowrun.gate_mark WHERE kind = 'LIMIT';
ALTER TABLE rowrun.gate_mark
    DROP COLUMN limit_key,
    DROP CONSTRAINT gate_mark_kind_check,
    ADD CONSTRAINT gate_mark_kind_check CHECK (kind = ANY (ARRAY['RUN'::text, 'TASK'::text, 'DATABASE'::text, 'PLAN'::text, 'PLAN_CHANGED'::text, 'DEPENDENCY'::text, 'PLAN_FAILED'::text, 'PAUSED'::text, 'NO_REPLICA'::text]));
DROP TABLE rowrun.limit_bucket, rowrun.limit_holder, rowrun.concurrency_limit;
