-- What is to be told of tasks without a plan is told to nobody any more, and who wanted nothing else is switched off.
DELETE FROM rowrun.webhook_delivery WHERE plan_id IS NULL;
UPDATE rowrun.webhook SET enabled = false, events = DEFAULT WHERE NOT events && '{PIPELINE_FAILED,PIPELINE_COMPLETED}';
UPDATE rowrun.webhook SET events = ARRAY(SELECT e FROM unnest(events) e WHERE e IN ('PIPELINE_FAILED', 'PIPELINE_COMPLETED'))
WHERE events && '{RUN_FAILED,SCHEDULE_PAUSED,TYPE_ORPHANED}';
DROP INDEX rowrun.webhook_run_failed, rowrun.webhook_delivery_chain_once;
ALTER TABLE rowrun.webhook_delivery
    DROP CONSTRAINT webhook_delivery_says_of_what,
    DROP CONSTRAINT webhook_delivery_event_type_check,
    ADD CONSTRAINT webhook_delivery_event_type_check CHECK (event_type IN ('PIPELINE_FAILED', 'PIPELINE_COMPLETED')),
    DROP COLUMN run_id, DROP COLUMN root_id, DROP COLUMN task_id, DROP COLUMN task_type, DROP COLUMN format, DROP COLUMN standard,
    ALTER COLUMN plan_id SET NOT NULL,
    ALTER COLUMN round SET NOT NULL;
COMMENT ON COLUMN rowrun.webhook_delivery.plan_id IS 'Of which plan; it may be gone.';
COMMENT ON COLUMN rowrun.webhook_delivery.event_type IS 'PIPELINE_FAILED or PIPELINE_COMPLETED.';
COMMENT ON COLUMN rowrun.webhook_delivery.payload IS 'The exact body.';
ALTER TABLE rowrun.webhook DROP COLUMN filter;
COMMENT ON TABLE rowrun.webhook IS 'Who is told when a plan of its project fails or completes.';
COMMENT ON COLUMN rowrun.webhook.project IS 'Plans of this project.';
COMMENT ON COLUMN rowrun.webhook.events IS 'Of PIPELINE_FAILED and PIPELINE_COMPLETED those that are wanted.';
