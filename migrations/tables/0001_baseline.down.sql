-- The order is that of foreign keys: who refers goes first.
DROP TABLE
    rowrun.schema_object,
    rowrun.orphan_type,
    rowrun.task_type,
    rowrun.stream_note,
    rowrun.stream_handover,
    rowrun.stream_position,
    rowrun.webhook_delivery,
    rowrun.webhook_delivery_log,
    rowrun.webhook,
    rowrun.promotion_lock,
    rowrun.gate_mark,
    rowrun.task_run_log,
    rowrun.task_run,
    rowrun.task_dependency,
    rowrun.task,
    rowrun.plan,
    rowrun.deployment,
    rowrun.code_object,
    rowrun.code_version,
    rowrun.migration;
DROP TYPE rowrun.claim, rowrun.claim_request;
DROP FUNCTION rowrun.too_deep(jsonb), rowrun.version_key(text);
