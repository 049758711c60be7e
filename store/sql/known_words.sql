-- known_words
-- Words that people type, of the newest rows and of the replicas.
-- $1 bigint: how many of the newest tasks are looked at
-- Returns: types, queues, target databases
WITH newest AS (SELECT k.type, k.queue, k.database_id FROM rowrun.task k ORDER BY k.id DESC LIMIT $1)
SELECT ARRAY(SELECT n.type FROM newest n UNION SELECT unnest(h.types) FROM rowrun.replica_heartbeat h ORDER BY 1),
       ARRAY(SELECT n.queue FROM newest n UNION SELECT unnest(h.queues) FROM rowrun.replica_heartbeat h ORDER BY 1),
       ARRAY(SELECT n.database_id FROM newest n WHERE n.database_id IS NOT NULL UNION SELECT unnest(h.databases) FROM rowrun.replica_heartbeat h ORDER BY 1)
