-- Runs that workers hold have nobody who could end them any more.
UPDATE rowrun.task_run r SET status = 'FAILED', finished_at = now(), updated_at = now(),
    result = r.result || '{"code": "LOST_CONTACT", "detail": "Task run abandoned: workers were removed from the schema"}'
FROM rowrun.worker_claim c WHERE r.id = c.run_id AND r.status = 'RUNNING';
DROP TABLE rowrun.worker_request, rowrun.worker_claim;
DELETE FROM rowrun.replica_heartbeat WHERE worker;
ALTER TABLE rowrun.replica_heartbeat DROP COLUMN worker;
