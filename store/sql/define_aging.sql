-- define_aging
-- In how long the priority of a task's runs grows by one while they wait. What is as it was is not written.
-- $1 bigint: task
-- $2 float8: in s; 0: it doesn't grow
-- Returns: no row
UPDATE rowrun.task k SET aging = CASE WHEN $2::float8 <> 0 THEN make_interval(secs => $2::float8) END
WHERE k.id = $1 AND k.aging IS DISTINCT FROM CASE WHEN $2::float8 <> 0 THEN make_interval(secs => $2::float8) END
