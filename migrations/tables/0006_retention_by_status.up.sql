-- How long ended runs are kept, by how they ended.
ALTER TABLE rowrun.task ADD COLUMN retention_by_status jsonb
    CONSTRAINT task_retention_by_status_done_failed_canceled CHECK (CASE WHEN jsonb_typeof(retention_by_status) = 'object'
        THEN retention_by_status - '{DONE,FAILED,CANCELED}'::text[] = '{}' ELSE retention_by_status IS NULL END)
    CONSTRAINT task_retention_by_status_0_to_100_years CHECK (jsonb_typeof(retention_by_status) <> 'object'
        OR  coalesce((retention_by_status ->> 'DONE')::interval BETWEEN interval '0' AND interval '100 years', true)
        AND coalesce((retention_by_status ->> 'FAILED')::interval BETWEEN interval '0' AND interval '100 years', true)
        AND coalesce((retention_by_status ->> 'CANCELED')::interval BETWEEN interval '0' AND interval '100 years', true));
COMMENT ON COLUMN rowrun.task.retention_by_status IS 'How long its ended runs are kept, by status: {"DONE": "1 day", "FAILED": "90 days"}. A status that isn''t named is kept as retention says; 0: never removed.';
CREATE INDEX task_retention_by_status ON rowrun.task (id) WHERE retention_by_status IS NOT NULL;
