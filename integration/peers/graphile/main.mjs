// graphile-worker does what the benchmark asks of Rowrun, on a database that the benchmark gives it; the words are those
// of integration/peers.
//
//   DATABASE_URL=… node main.mjs PEER ACTION NUMBER…
//
// PEER is graphile-batched, graphile-unbatched, graphile-defaults or graphile-ten; see settings.mjs. The actions are
// fill, add, drain, burst (JOBS) and starts, due (RATE SECONDS). All but the first two print one line of JSON.
import { readFileSync } from "node:fs";
import pg from "pg";
import { add, burst, drain, fill } from "./drain.mjs";
import { describe, settings } from "./settings.mjs";
import { due, starts } from "./starts.mjs";

const actions = {
  fill: [fill, "JOBS"],
  add: [add, "JOBS"],
  drain: [drain, "JOBS"],
  burst: [burst, "JOBS"],
  starts: [starts, "RATE", "SECONDS"],
  due: [due, "RATE", "SECONDS"],
};

function parse([peer, action, ...numbers]) {
  if (!Object.hasOwn(settings, peer ?? "")) {
    throw new Error(`${JSON.stringify(peer ?? "")} is not a peer; known: ${Object.keys(settings).join(", ")}`);
  }
  if (!Object.hasOwn(actions, action ?? "")) {
    throw new Error(`${JSON.stringify(action ?? "")} is not known; known: ${Object.keys(actions).join(", ")}`);
  }
  const [act, ...words] = actions[action];
  if (numbers.length !== words.length) {
    throw new Error(`usage: main.mjs PEER ${action} ${words.join(" ")}`);
  }
  for (const [i, word] of words.entries()) {
    if (!/^[1-9][0-9]*$/.test(numbers[i])) {
      throw new Error(`${word}: ${JSON.stringify(numbers[i])} is not a number above 0`);
    }
  }
  return { worker: settings[peer], act, numbers: numbers.map(Number) };
}

function version() {
  const text = readFileSync(new URL("node_modules/graphile-worker/package.json", import.meta.url), "utf8");
  return `v${JSON.parse(text).version}, Node.js ${process.version}`;
}

async function main() {
  const { worker, act, numbers } = parse(process.argv.slice(2));
  if (!process.env.DATABASE_URL) {
    throw new Error("DATABASE_URL is not set");
  }
  const db = new pg.Client({ connectionString: process.env.DATABASE_URL });
  await db.connect();
  try {
    const result = await act(db, worker, ...numbers);
    if (result) {
      console.log(JSON.stringify({ peer: "graphile-worker", version: version(), settings: describe(worker), ...result }));
    }
  } finally {
    await db.end();
  }
}

try {
  await main();
} catch (error) {
  console.error(`graphile: ${error.message}`);
  process.exitCode = 1;
}
