// The settings under which graphile-worker is measured.

// Of the performance tests in its repository, where both ways stand side by side.
const concurrent = { concurrentJobs: 24, maxPoolSize: 25 };

export const settings = {
  // Fetched in batches, completed in batches.
  "graphile-batched": {
    ...concurrent,
    localQueue: { size: 500, refetchDelay: { durationMs: 10 } },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
  },
  // One job per statement, which is its default.
  "graphile-unbatched": concurrent,
  // What it does where nothing is said: one job at a time.
  "graphile-defaults": {},
  // The same with 10 jobs at a time.
  "graphile-ten": { concurrentJobs: 10 },
};

// describe shows what was said and the defaults that decide.
export function describe(worker) {
  const all = { concurrentJobs: 1, maxPoolSize: 10, pollInterval: 2000, ...worker };
  return Object.entries(all)
    .map(([name, value]) => `${name} ${typeof value === "object" ? JSON.stringify(value) : value}`)
    .join(", ");
}
