"""The example worker with other handlers: of each run it writes into a ledger what it did, with which claim, and what
became of its result.

worker.py FOLDER-OF-THE-EXAMPLE NAME LEASE; the ledger is reached by LEDGER_URL, on which no answer is lost.
"""
import os, random, signal, sys, time
from datetime import timedelta
import psycopg

sys.path.insert(0, sys.argv[1])
import worker

worker.NAME, worker.LEASE, worker.BATCH = sys.argv[2], timedelta(seconds=float(sys.argv[3])), 5
ledger = psycopg.connect(os.environ["LEDGER_URL"], autocommit=True)
ask = worker.Database.ask

def watched(self, sql, *args):
    rows = ask(self, sql, *args)
    if "finish_runs" in sql:
        for entry, result in zip(rows[0]["ended"], args[2].obj):
            ledger.execute("INSERT INTO verdict (run_id, claim, worker, verdict) VALUES (%s, %s, %s, %s)",
                           (result["run_id"], result["claim"], worker.NAME, entry["verdict"]))
    return rows

def effect(run, halt):
    time.sleep(random.random() / 25)
    ledger.execute("INSERT INTO effect (run_id, claim, worker) VALUES (%s, %s, %s)", (run["run_id"], run["claim"], worker.NAME))
    return {"claim": run["claim"]}

worker.Database.ask = watched
signal.signal(signal.SIGTERM, lambda *_: worker.stop.set())
worker.work({"EFFECT": effect})
