// A worker in this process, and how it is waited for.
import { Logger, run, runMigrations } from "graphile-worker";

// Without a line for each job, as in graphile-worker's own performance tests.
const quiet = new Logger(() => () => {});

const patience = 20 * 60 * 1000; // ms, of one round

const options = (worker) => ({
  preset: { worker: { ...worker, connectionString: process.env.DATABASE_URL, logger: quiet } },
});

// migrate makes graphile-worker's schema where it is missing.
export async function migrate(worker) {
  await runMigrations(options(worker));
}

// start runs a worker whose jobs call began with their payload. The count resolves once so many jobs have begun.
export async function start(worker, jobs, began = () => {}) {
  let left = jobs;
  let counted, failed;
  const count = new Promise((resolve, reject) => {
    counted = resolve;
    failed = reject;
  });
  const timer = setTimeout(() => failed(new Error(`${jobs - left} of ${jobs} jobs began`)), patience);
  const runner = await run({
    ...options(worker),
    noHandleSignals: true,
    taskList: {
      noop: (payload) => {
        began(payload);
        if (--left === 0) counted();
      },
    },
  });
  runner.promise.catch(failed);
  runner.events.on("job:error", ({ error }) => failed(error));
  count.catch(() => {}); // whoever waits for it hears of it
  return {
    count,
    stop: () => {
      clearTimeout(timer);
      return runner.stop();
    },
  };
}

// recorded waits until no job is left: graphile-worker deletes those that have completed. Called when the last has begun.
export async function recorded(db) {
  const deadline = performance.now() + patience;
  while (performance.now() < deadline) {
    const { rows } = await db.query("SELECT EXISTS (SELECT FROM graphile_worker._private_jobs) AS left");
    if (!rows[0].left) return;
    await sleep(1);
  }
  throw new Error("jobs are left");
}

export const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

// cpu is what this process has used so far, in seconds.
export function cpu() {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}
