// How soon single jobs start.
import { cpu, migrate, recorded, sleep, start } from "./worker.mjs";

const lead = 3000; // ms from the insert of jobs that are due later to the first of them

// clock is the machine's in ms, finer than Date.now.
const clock = () => performance.timeOrigin + performance.now();

// starts inserts single jobs with add_job, a statement each; the first second warms up.
export async function starts(db, worker, rate, seconds) {
  await migrate(worker);
  const jobs = rate * (1 + seconds);
  const delays = new Array(jobs);
  const sent = new Array(jobs);
  const used = cpu();
  const w = await start(worker, jobs, ({ number }) => {
    delays[number] = clock() - sent[number];
  });
  try {
    await sleep(1000); // until it listens
    const begun = clock();
    for (let number = 0; number < jobs; number++) {
      const early = begun + (number * 1000) / rate - clock();
      if (early > 0) await sleep(early);
      sent[number] = clock();
      await db.query("SELECT graphile_worker.add_job('noop', json_build_object('number', $1::int))", [number]);
    }
    await w.count;
    await recorded(db);
    return { jobs, seconds: 0, cpu_seconds: cpu() - used, delays_ms: delays.slice(rate) };
  } finally {
    await w.stop();
  }
}

// due inserts all jobs at once.
export async function due(db, worker, rate, seconds) {
  await migrate(worker);
  const jobs = rate * seconds;
  const delays = new Array(jobs);
  let first = 0;
  const used = cpu();
  const w = await start(worker, jobs, ({ number }) => {
    delays[number] = clock() - (first + (number * 1000) / rate);
  });
  try {
    first = clock() + lead;
    await db.query(
      `SELECT count(*) FROM graphile_worker.add_jobs(ARRAY(SELECT json_populate_record(null::graphile_worker.job_spec, json_build_object(
          'identifier', 'noop', 'payload', json_build_object('number', i), 'run_at', to_timestamp(($1::float8 + i * 1000.0 / $2::int) / 1000)))
        FROM generate_series(0, $3::int - 1) i))`,
      [first, rate, jobs],
    );
    if (clock() > first) throw new Error("the jobs were inserted too late for the first of them");
    await w.count;
    await recorded(db);
    return { jobs, seconds: 0, cpu_seconds: cpu() - used, delays_ms: delays };
  } finally {
    await w.stop();
  }
}
