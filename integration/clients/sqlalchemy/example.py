import os
import time

from sqlalchemy import BigInteger, Column, MetaData, Numeric, Table, Text, create_engine, insert, select
from sqlalchemy.dialects import postgresql

engine = create_engine(os.environ["DATABASE_URL"].replace("postgres://", "postgresql://"))
metadata = MetaData()
order = Table("shop_order", metadata, Column("id", BigInteger, primary_key=True), Column("total", Numeric))
task = Table("task", metadata, Column("id", BigInteger, primary_key=True), Column("name", Text),
             Column("plan_id", BigInteger), schema="rowrun")
run = Table("task_run", metadata, Column("id", BigInteger, primary_key=True), Column("task_id", BigInteger),
            Column("input", postgresql.JSONB), Column("idempotency_key", Text), schema="rowrun")
job = Table("job", metadata, Column("root_id", BigInteger), Column("status", Text), schema="rowrun")

# The order and its job: both or neither.
with engine.begin() as db:
    task_id = db.scalar(select(task.c.id).where(task.c.name == "send receipt", task.c.plan_id.is_(None)))
    order_id = db.scalar(insert(order).values(total=30).returning(order.c.id))
    values = dict(task_id=task_id, input={"order": order_id}, idempotency_key=f"order {order_id}")
    run_id = db.scalar(insert(run).values(values).returning(run.c.id))

with engine.begin() as db:
    # Many in one statement.
    db.execute(insert(run).values([dict(task_id=task_id, input={"copy": copy}) for copy in (1, 2, 3)]))

    # Once more: the key gives the run that is there.
    upsert = postgresql.insert(run).values(values)
    upsert = upsert.on_conflict_do_update(index_elements=["task_id", "idempotency_key"], set_={"input": upsert.excluded.input})
    again = db.scalar(upsert.returning(run.c.id))


def status():
    """The job's status, over all its attempts; asked in a transaction of its own each time."""
    with engine.begin() as db:
        return db.scalar(select(job.c.status).where(job.c.root_id == run_id))


while status() not in ("DONE", "FAILED", "CANCELED"):
    time.sleep(0.1)
print(f"run {run_id}, again {again}: {status()}")
