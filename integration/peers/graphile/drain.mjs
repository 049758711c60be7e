// Jobs inserted beforehand or all at once, and worked off.
import { cpu, migrate, recorded, sleep, start } from "./worker.mjs";

// insert adds jobs as graphile-worker's own performance test does: all in one call of add_jobs.
const insert = `SELECT count(*) FROM graphile_worker.add_jobs(
    ARRAY(SELECT json_populate_record(null::graphile_worker.job_spec, json_build_object('identifier', 'noop', 'payload', json_build_object('number', i)))
          FROM generate_series(0, $1::int - 1) i))`;

// fill begins with an empty table, and leaves it as autovacuum would.
export async function fill(db, worker, jobs) {
  await migrate(worker);
  await db.query("TRUNCATE graphile_worker._private_jobs");
  await db.query("VACUUM FULL graphile_worker._private_jobs");
  await add(db, worker, jobs);
}

export async function add(db, worker, jobs) {
  await migrate(worker);
  await db.query(insert, [jobs]);
  await db.query("VACUUM ANALYZE graphile_worker._private_jobs");
  await db.query("CHECKPOINT");
}

// drain is from the worker's start to the deletion of the last job.
export async function drain(db, worker, jobs) {
  const before = performance.now();
  const used = cpu();
  const w = await start(worker, jobs);
  try {
    await w.count;
    await recorded(db);
    return { jobs, seconds: (performance.now() - before) / 1000, cpu_seconds: cpu() - used };
  } finally {
    await w.stop();
  }
}

// burst inserts into a worker that waits.
export async function burst(db, worker, jobs) {
  await migrate(worker);
  const w = await start(worker, jobs);
  try {
    await sleep(1000);
    const before = performance.now();
    const used = cpu();
    await db.query(insert, [jobs]);
    await w.count;
    await recorded(db);
    return { jobs, seconds: (performance.now() - before) / 1000, cpu_seconds: cpu() - used };
  } finally {
    await w.stop();
  }
}
