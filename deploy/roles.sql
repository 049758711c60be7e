-- The roles of an installation: run it once with psql, behind `rowrun migrate up`, as the role that migrated.
-- Rowrun's own roles (rowrun_client, rowrun_author, rowrun_operator, rowrun_viewer, rowrun_worker, rowrun_replica) have no login; what they
-- may do is said in docs/roles.md. Change the names here to yours, leave out what you don't need, and set passwords with
-- psql's \password, so that they stand in no history.

-- The sidecars: what `rowrun serve` needs, and no more. Not the role that migrates, no superuser, not the app's.
CREATE ROLE rowrun_sidecar LOGIN IN ROLE rowrun_replica;
-- Optional. To see how old the transactions of other roles are, for `rowrun doctor`; granted by a superuser:
-- GRANT pg_read_all_stats TO rowrun_sidecar;
-- Optional. The stream from the write-ahead log; it lets this role read the log of the whole server. Set by a superuser:
-- ALTER ROLE rowrun_sidecar REPLICATION;

-- Optional. To let people act on the dashboard that the sidecars serve (--http-operator-token): it acts by SET LOCAL ROLE
-- rowrun_operator. From PostgreSQL 16 on WITH INHERIT FALSE, so that the sidecar has these rights only while it does that.
-- GRANT rowrun_operator TO rowrun_sidecar;

-- The application: defines tasks of harmless types and inserts runs.
CREATE ROLE app LOGIN IN ROLE rowrun_client;

-- Deployments, migration files: tasks of the types SQL, DATABASE_MIGRATE and COMMAND, webhooks.
CREATE ROLE app_deploy LOGIN IN ROLE rowrun_author;

-- People: operators act, viewers read.
CREATE ROLE ops LOGIN IN ROLE rowrun_operator;
CREATE ROLE dashboards LOGIN IN ROLE rowrun_viewer;

-- Programs in any language that run task types of their own: docs/workers.md.
CREATE ROLE workers LOGIN IN ROLE rowrun_worker;
