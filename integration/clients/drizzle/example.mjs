import { setTimeout } from 'node:timers/promises'
import { and, eq, isNull } from 'drizzle-orm'
import { drizzle } from 'drizzle-orm/node-postgres'
import { bigint, jsonb, numeric, pgSchema, pgTable, text } from 'drizzle-orm/pg-core'
import pg from 'pg'

const id = () => bigint('id', { mode: 'bigint' }).generatedByDefaultAsIdentity().primaryKey()
const order = pgTable('shop_order', { id: id(), total: numeric('total') })
const rowrun = pgSchema('rowrun')
const task = rowrun.table('task', { id: id(), name: text('name'), planId: bigint('plan_id', { mode: 'bigint' }) })
const run = rowrun.table('task_run', {
  id: id(),
  taskId: bigint('task_id', { mode: 'bigint' }).notNull(),
  input: jsonb('input').notNull().default({}),
  idempotencyKey: text('idempotency_key'),
})
const job = rowrun.table('job', { rootId: bigint('root_id', { mode: 'bigint' }), status: text('status') })

const pool = new pg.Pool({ connectionString: process.env.DATABASE_URL })
const db = drizzle(pool)
const [{ id: taskId }] = await db.select().from(task).where(and(eq(task.name, 'send receipt'), isNull(task.planId)))

// The order and its job: both or neither.
const [first] = await db.transaction(async (tx) => {
  const [made] = await tx.insert(order).values({ total: '30' }).returning()
  const values = { taskId, input: { order: String(made.id) }, idempotencyKey: `order ${made.id}` }
  return tx.insert(run).values(values).returning()
})

// Many in one statement.
await db.insert(run).values([1, 2, 3].map((copy) => ({ taskId, input: { copy } })))

// Once more: the key gives the run that is there.
const { input, idempotencyKey } = first
const [again] = await db.insert(run).values({ taskId, input, idempotencyKey })
  .onConflictDoUpdate({ target: [run.taskId, run.idempotencyKey], set: { input } }).returning()

// The job's status, over all its attempts.
const status = () => db.select().from(job).where(eq(job.rootId, first.id)).then(([row]) => row.status)
while (!['DONE', 'FAILED', 'CANCELED'].includes(await status())) await setTimeout(100)
console.log(`run ${first.id}, again ${again.id}: ${await status()}`)
await pool.end()
