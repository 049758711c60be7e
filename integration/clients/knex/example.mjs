import { setTimeout } from 'node:timers/promises'
import knex from 'knex'

const db = knex({ client: 'pg', connection: process.env.DATABASE_URL })
const task = await db('rowrun.task').where({ name: 'send receipt', plan_id: null }).first('id')

// The order and its job: both or neither.
const job = await db.transaction(async (tx) => {
  const [order] = await tx('shop_order').insert({ total: 30 }).returning('id')
  const job = { task_id: task.id, input: { order: order.id }, idempotency_key: `order ${order.id}` }
  const [run] = await tx('rowrun.task_run').insert(job).returning('id')
  return { ...job, id: run.id }
})

// Many in one statement.
await db('rowrun.task_run').insert([1, 2, 3].map((copy) => ({ task_id: task.id, input: { copy } })))

// Once more: the key gives the run that is there.
const { id, ...same } = job
const [again] = await db('rowrun.task_run').insert(same)
  .onConflict(['task_id', 'idempotency_key']).merge().returning('id')

// The job's status, over all its attempts. Ids are text in JavaScript: node-pg makes no number of a bigint.
const status = () => db('rowrun.job').where({ root_id: id }).first('status').then((row) => row.status)
while (!['DONE', 'FAILED', 'CANCELED'].includes(await status())) await setTimeout(100)
console.log(`run ${id}, again ${again.id}: ${await status()}`)
await db.destroy()
