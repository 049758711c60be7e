import os
import time

import django
from django.conf import settings

settings.configure(DATABASES={"default": {
    "ENGINE": "django.db.backends.postgresql",
    "NAME": os.environ["PGDATABASE"], "HOST": os.environ["PGHOST"], "PORT": os.environ["PGPORT"],
    "USER": os.environ["PGUSER"], "PASSWORD": os.environ.get("PGPASSWORD", ""),
    "OPTIONS": {"options": "-c search_path=public,rowrun"},
}})
django.setup()

from django.db import connection, models, transaction  # noqa: E402


class Order(models.Model):
    id = models.BigAutoField(primary_key=True)
    total = models.DecimalField(max_digits=12, decimal_places=2)

    class Meta:
        app_label, db_table = "shop", "shop_order"


class Task(models.Model):
    id = models.BigAutoField(primary_key=True)
    name = models.TextField()
    plan_id = models.BigIntegerField(null=True)

    class Meta:
        app_label, db_table, managed = "shop", "task", False  # not Django's to migrate


class Run(models.Model):
    id = models.BigAutoField(primary_key=True)
    task = models.ForeignKey(Task, models.DO_NOTHING)
    input = models.JSONField(default=dict)
    idempotency_key = models.TextField(null=True)

    class Meta:
        app_label, db_table, managed = "shop", "task_run", False


task = Task.objects.get(name="send receipt", plan_id=None)

# The order and its job: both or neither.
with transaction.atomic():
    order = Order.objects.create(total=30)
    run = Run.objects.create(task=task, input={"order": order.id}, idempotency_key=f"order {order.id}")

# Many in one statement.
Run.objects.bulk_create(Run(task=task, input={"copy": copy}) for copy in (1, 2, 3))

# Once more: the key gives the run that is there. In one statement, and so safe with others at it, it is run_task.
with connection.cursor() as cursor:
    cursor.execute("SELECT run_task(%s, idempotency_key => %s)", [task.name, run.idempotency_key])
    again, = cursor.fetchone()


def status():
    """The job's status, over all its attempts."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT status FROM job WHERE root_id = %s", [run.id])
        return cursor.fetchone()[0]


while status() not in ("DONE", "FAILED", "CANCELED"):
    time.sleep(0.1)
print(f"run {run.id}, again {again}: {status()}")
