-- applied_elsewhere
-- Migrations that other plans have applied to these databases. It reads the tasks of all plans.
-- $1 bigint: plan that is left out
-- $2 text[]: target databases
-- Returns: plan, its name, task, database, version, hash
SELECT p.id, p.name, k.name, k.database_id, k.version, k.labels ->> 'sha256'
FROM rowrun.task k JOIN rowrun.plan p ON p.id = k.plan_id
WHERE k.type = 'DATABASE_MIGRATE' AND k.outcome = 'DONE' AND k.plan_id <> $1 AND k.database_id = ANY ($2) AND k.labels ->> 'sha256' <> ''
