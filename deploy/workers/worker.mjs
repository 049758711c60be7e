// A worker: it runs tasks of type GREET. docs/workers.md tells why each step is as it is.
// npm install pg; DATABASE_URL=postgres://… node worker.mjs
import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";

const name = `${hostname()}-${process.pid}`, lease = 60, batch = 10;
const handlers = { // halt is an AbortSignal: the run was canceled or lost
  GREET: async (run, halt) => ({ text: "hello " + (run.payload.name ?? "you") }),
};
let client, stopping = false, wake = () => {};
// A second one ends it at once: without a database the first has to wait.
for (const signal of ["SIGTERM", "SIGINT"]) process.once(signal, () => { stopping = true; wake(); });

// Sends a request until it is answered: the same request has the same answer.
async function ask(sql, ...args) {
  for (;;) {
    try {
      if (!client) {
        const c = new pg.Client({ connectionString: process.env.DATABASE_URL, keepAlive: true });
        c.on("error", () => { if (client === c) client = undefined; });
        c.on("notification", () => wake());
        await c.connect();
        await c.query("LISTEN rowrun_task_run");
        client = c;
      }
      return (await client.query({ text: sql, values: args, rowMode: "array" })).rows.map(([value]) => value);
    } catch (e) {
      if (e.severity && !/^(08|40|53|57)/.test(e.code)) throw e; // refused (RR003): it would be again
      console.error("trying again:", e.message);
      client?.end().catch(() => {});
      client = undefined;
      await sleep(1000);
    }
  }
}

const held = new Map();
const beats = setInterval(async () => {
  for (const v of await ask("SELECT to_jsonb(h) FROM rowrun.heartbeat_worker($1, $2) h", name, [...held.keys()]))
    if (v.verdict === "CANCELED" || v.verdict === "LOST") held.get(v.claim)?.abort();
}, lease * 1000 / 3);

async function perform({ run_id, claim, ...run }) {
  try {
    const halt = held.get(claim).signal;
    halt.throwIfAborted();
    return { run_id, claim, status: "DONE", result: await handlers[run.type]({ run_id, ...run }, halt) };
  } catch (e) {
    return { run_id, claim, status: "FAILED", detail: String(e) };
  }
}

let runs = [], request = randomUUID();
const types = Object.keys(handlers), seconds = `${lease} s`;
while (runs.length || !stopping) {
  if (!runs.length) { // the same id is asked again until it has brought something
    const woken = new Promise((resolve) => { wake = resolve; });
    runs = await ask("SELECT to_jsonb(c) FROM rowrun.claim_runs($1, $2, $3, $4, $5) c", request, name, types, batch, seconds);
    if (!runs.length) { await Promise.race([woken, sleep(5000)]); continue; }
    request = randomUUID();
  }
  for (const run of runs) held.set(run.claim, new AbortController());
  const results = await Promise.all(runs.map(perform));
  const [answer] = await ask("SELECT rowrun.finish_runs($1, $2, $3, $4, $5, $6)",
    randomUUID(), name, JSON.stringify(results), types, stopping ? 0 : batch, seconds);
  held.clear();
  runs = answer.claimed;
}
clearInterval(beats);
await client?.end();
