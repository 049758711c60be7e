"""A worker: it runs tasks of type GREET. docs/workers.md tells why each step is as it is.

apt install python3-psycopg (or: pip install psycopg); DATABASE_URL=postgres://… python3 worker.py
"""
import os, select, signal, socket, threading, time, uuid
from datetime import timedelta
import psycopg
from psycopg.types.json import Jsonb

NAME, LEASE, BATCH = f"{socket.gethostname()}-{os.getpid()}", timedelta(seconds=60), 10
stop = threading.Event()

def greet(run, halt):  # halt is set when the run was canceled or lost: look at it in long work
    return {"text": "hello " + run["payload"].get("name", "you")}

class Database:
    """Sends a request until it is answered: the same request has the same answer."""
    conn, woken = None, False
    def ask(self, sql, *args):
        while True:
            try:
                if self.conn is None:
                    self.conn = psycopg.connect(os.environ["DATABASE_URL"], autocommit=True, keepalives_idle=10)
                    self.conn.add_notify_handler(lambda _: setattr(self, "woken", True))
                    self.conn.execute("LISTEN rowrun_task_run")
                self.woken = False
                return [row[0] for row in self.conn.execute(sql, args)]
            except psycopg.OperationalError as e:  # what is refused (RR003) is another error, and ends the program
                print("trying again:", e, flush=True)
                self.conn = None
                time.sleep(1)
    def wait(self, seconds):  # a notification may have come along with the last answer
        if not self.woken and not self.conn.pgconn.notifies():
            select.select([self.conn], [], [], seconds)

def beat(held):
    db = Database()
    while True:
        time.sleep(LEASE.total_seconds() / 3)
        for v in db.ask("SELECT to_jsonb(h) FROM rowrun.heartbeat_worker(%s, %s::uuid[]) h", NAME, list(held)):
            if v["verdict"] in ("CANCELED", "LOST") and v["claim"] in held:
                held[v["claim"]].set()

def perform(handler, run, halt):
    try:
        if halt.is_set():
            raise InterruptedError("stopped before it began")
        return {"run_id": run["run_id"], "claim": run["claim"], "status": "DONE", "result": handler(run, halt)}
    except Exception as e:
        return {"run_id": run["run_id"], "claim": run["claim"], "status": "FAILED", "detail": f"{type(e).__name__}: {e}"}

def work(handlers):
    db, held, runs, request, types = Database(), {}, [], uuid.uuid4(), list(handlers)
    threading.Thread(target=beat, args=(held,), daemon=True).start()
    while runs or not stop.is_set():
        if not runs:
            runs = db.ask("SELECT to_jsonb(c) FROM rowrun.claim_runs(%s, %s, %s, %s, %s) c", request, NAME, types, BATCH, LEASE)
            if not runs:  # the same id is asked again until it has brought something
                db.wait(5)
                continue
            request = uuid.uuid4()
        held.update({run["claim"]: threading.Event() for run in runs})
        results = [perform(handlers[run["type"]], run, held[run["claim"]]) for run in runs if not stop.is_set()]
        answer = db.ask("SELECT rowrun.finish_runs(%s, %s, %s, %s, %s, %s)",
                        uuid.uuid4(), NAME, Jsonb(results), types, 0 if stop.is_set() else BATCH, LEASE)[0]
        db.ask("SELECT verdict FROM rowrun.release_runs(%s::uuid[])", [run["claim"] for run in runs[len(results):]])
        held.clear()
        runs = answer["claimed"]

if __name__ == "__main__":
    for number in (signal.SIGTERM, signal.SIGINT):  # a second one ends it at once: without a database the first has to wait
        signal.signal(number, lambda got, _: (stop.set(), signal.signal(got, signal.SIG_DFL)))
    work({"GREET": greet})
