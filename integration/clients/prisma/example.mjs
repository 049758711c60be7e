import { setTimeout } from 'node:timers/promises'
import { PrismaPg } from '@prisma/adapter-pg'
import { PrismaClient } from './generated/index.js'

const db = new PrismaClient({ adapter: new PrismaPg({ connectionString: process.env.DATABASE_URL }) })
const task = await db.task.findFirstOrThrow({ where: { name: 'send receipt', plan_id: null } })

// The order and its job: both or neither.
const run = await db.$transaction(async (tx) => {
  const order = await tx.order.create({ data: { total: 30 } })
  const data = { task_id: task.id, input: { order: String(order.id) }, idempotency_key: `order ${order.id}` }
  return tx.run.create({ data })
})

// Many in one statement.
await db.run.createMany({ data: [1, 2, 3].map((copy) => ({ task_id: task.id, input: { copy } })) })

// Once more: the key gives the run that is there.
const { task_id, input, idempotency_key } = run
const again = await db.run.upsert({
  where: { task_id_idempotency_key: { task_id, idempotency_key } },
  create: { task_id, input, idempotency_key },
  update: {},
})

// The job's status, over all its attempts.
const status = () => db.$queryRaw`SELECT status FROM rowrun.job WHERE root_id = ${run.id}`.then(([row]) => row.status)
while (!['DONE', 'FAILED', 'CANCELED'].includes(await status())) await setTimeout(100)
console.log(`run ${run.id}, again ${again.id}: ${await status()}`)
await db.$disconnect()
