-- Events of tasks without a plan, and bodies that get the URL of the dashboard from whoever sends them first.
ALTER TABLE rowrun.webhook ADD COLUMN filter jsonb;
COMMENT ON TABLE rowrun.webhook IS 'Who is told when a plan of its project fails or completes, and what goes wrong outside plans.';
COMMENT ON COLUMN rowrun.webhook.project IS 'Plans of this project; tasks without a plan belong to none.';
COMMENT ON COLUMN rowrun.webhook.events IS 'Of PIPELINE_FAILED, PIPELINE_COMPLETED, RUN_FAILED, SCHEDULE_PAUSED and TYPE_ORPHANED those that are wanted.';
COMMENT ON COLUMN rowrun.webhook.filter IS 'Of which tasks without a plan: {"task": names or ids, "type": ..., "queue": ..., "label": {...}}, all of which must fit; NULL: of all.';
-- Asked at the end of each run that failed for good: nothing is read where nobody wants to know.
CREATE INDEX webhook_run_failed ON rowrun.webhook (id) WHERE enabled AND 'RUN_FAILED' = ANY (events);

ALTER TABLE rowrun.webhook_delivery
    ALTER COLUMN plan_id DROP NOT NULL,
    ALTER COLUMN round DROP NOT NULL,
    ADD COLUMN run_id bigint,
    ADD COLUMN root_id bigint,
    ADD COLUMN task_id bigint,
    ADD COLUMN task_type text,
    ADD COLUMN format text,
    ADD COLUMN standard text,
    DROP CONSTRAINT webhook_delivery_event_type_check,
    ADD CONSTRAINT webhook_delivery_event_type_check CHECK (event_type IN ('PIPELINE_FAILED', 'PIPELINE_COMPLETED', 'RUN_FAILED', 'SCHEDULE_PAUSED', 'TYPE_ORPHANED')),
    ADD CONSTRAINT webhook_delivery_says_of_what CHECK (CASE event_type
        WHEN 'RUN_FAILED' THEN num_nulls(run_id, root_id, task_id) = 0
        WHEN 'SCHEDULE_PAUSED' THEN task_id IS NOT NULL
        WHEN 'TYPE_ORPHANED' THEN task_type IS NOT NULL
        ELSE num_nulls(plan_id, round) = 0 END);
CREATE UNIQUE INDEX webhook_delivery_chain_once ON rowrun.webhook_delivery (root_id, webhook_id) WHERE root_id IS NOT NULL;
COMMENT ON COLUMN rowrun.webhook_delivery.plan_id IS 'Of which plan; it may be gone. NULL: of a task without one.';
COMMENT ON COLUMN rowrun.webhook_delivery.event_type IS 'PIPELINE_FAILED, PIPELINE_COMPLETED, RUN_FAILED, SCHEDULE_PAUSED or TYPE_ORPHANED.';
COMMENT ON COLUMN rowrun.webhook_delivery.payload IS 'The exact body, from the first try on: with it some formats get the URL of the dashboard.';
COMMENT ON COLUMN rowrun.webhook_delivery.run_id IS 'Of RUN_FAILED: the run; it may be gone.';
COMMENT ON COLUMN rowrun.webhook_delivery.root_id IS 'Of RUN_FAILED: the first run of its chain.';
COMMENT ON COLUMN rowrun.webhook_delivery.task_id IS 'Of RUN_FAILED and SCHEDULE_PAUSED: the task; it may be gone.';
COMMENT ON COLUMN rowrun.webhook_delivery.task_type IS 'Of events outside plans: the type of task.';
COMMENT ON COLUMN rowrun.webhook_delivery.format IS 'The webhook''s, when the event was decided; NULL: it was decided by release 0.1.';
COMMENT ON COLUMN rowrun.webhook_delivery.standard IS 'Internal: the standard body, until the first try; NULL: payload is final.';
