-- The end of the scripts beside it, which include it: what was moved, what stays and why; then the transaction's end.
SELECT p.task, CASE WHEN m.anew THEN 'moved' WHEN m.run_id IS NOT NULL THEN 'moved before' ELSE 'stays' END AS what,
       CASE WHEN m.run_id IS NULL THEN coalesce(p.leave, 'somebody inserts its key now: call this again') ELSE '' END AS why, count(*) AS jobs
FROM pg_temp.pending_job p LEFT JOIN pg_temp.moved_job m USING (old_id)
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
\if :dry_run
    \echo 'dry_run: nothing was changed'
    ROLLBACK;
\else
    COMMIT;
\endif
