import { setTimeout } from 'node:timers/promises'
import { DataTypes, QueryTypes, Sequelize } from 'sequelize'

const db = new Sequelize(process.env.DATABASE_URL, { logging: false })
const id = { type: DataTypes.BIGINT, primaryKey: true, autoIncrement: true }
const table = (schema, tableName) => ({ schema, tableName, timestamps: false })
const Order = db.define('Order', { id, total: DataTypes.DECIMAL }, table('public', 'shop_order'))
const Task = db.define('Task', { id, name: DataTypes.TEXT, plan_id: DataTypes.BIGINT }, table('rowrun', 'task'))
const Run = db.define('Run', {
  id,
  task_id: DataTypes.BIGINT,
  input: DataTypes.JSONB,
  idempotency_key: DataTypes.TEXT,
}, table('rowrun', 'task_run'))
const task = await Task.findOne({ where: { name: 'send receipt', plan_id: null } })

// The order and its job: both or neither.
const run = await db.transaction(async (transaction) => {
  const order = await Order.create({ total: 30 }, { transaction })
  const job = { task_id: task.id, input: { order: order.id }, idempotency_key: `order ${order.id}` }
  return Run.create(job, { transaction })
})

// Many in one statement.
await Run.bulkCreate([1, 2, 3].map((copy) => ({ task_id: task.id, input: { copy } })))

// Once more: the key gives the run that is there.
const { task_id, input, idempotency_key } = run
const [again] = await Run.upsert({ task_id, input, idempotency_key }, { conflictFields: ['task_id', 'idempotency_key'] })

// The job's status, over all its attempts.
const status = () => db.query('SELECT status FROM rowrun.job WHERE root_id = ?', {
  replacements: [run.id], type: QueryTypes.SELECT, plain: true,
}).then((row) => row.status)
while (!['DONE', 'FAILED', 'CANCELED'].includes(await status())) await setTimeout(100)
console.log(`run ${run.id}, again ${again.id}: ${await status()}`)
await db.close()
