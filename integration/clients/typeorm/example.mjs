import { setTimeout } from 'node:timers/promises'
import { DataSource, EntitySchema, IsNull } from 'typeorm'

const id = { type: 'bigint', primary: true, generated: 'increment' }
const Order = new EntitySchema({ name: 'Order', tableName: 'shop_order', columns: { id, total: { type: 'numeric' } } })
const Task = new EntitySchema({
  name: 'Task', schema: 'rowrun', tableName: 'task',
  columns: { id, name: { type: 'text' }, plan_id: { type: 'bigint', nullable: true } },
})
const Run = new EntitySchema({
  name: 'Run', schema: 'rowrun', tableName: 'task_run',
  columns: { id, task_id: { type: 'bigint' }, input: { type: 'jsonb' }, idempotency_key: { type: 'text', nullable: true } },
})
const db = await new DataSource({
  type: 'postgres', url: process.env.DATABASE_URL, entities: [Order, Task, Run], // synchronize: never, in schema rowrun
}).initialize()
const task = await db.manager.findOneByOrFail(Task, { name: 'send receipt', plan_id: IsNull() })

// The order and its job: both or neither.
const run = await db.transaction(async (tx) => {
  const order = await tx.save(Order, { total: 30 })
  return tx.save(Run, { task_id: task.id, input: { order: order.id }, idempotency_key: `order ${order.id}` })
})

// Many in one statement.
await db.manager.insert(Run, [1, 2, 3].map((copy) => ({ task_id: task.id, input: { copy } })))

// Once more: the key gives the run that is there.
const { task_id, input, idempotency_key } = run
const again = await db.manager.upsert(Run, { task_id, input, idempotency_key }, ['task_id', 'idempotency_key'])

// The job's status, over all its attempts.
const status = () => db.query('SELECT status FROM rowrun.job WHERE root_id = $1', [run.id]).then(([row]) => row.status)
while (!['DONE', 'FAILED', 'CANCELED'].includes(await status())) await setTimeout(100)
console.log(`run ${run.id}, again ${again.identifiers[0].id}: ${await status()}`)
await db.destroy()
