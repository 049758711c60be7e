package dbexec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/rowrun/rowrun/scheduler"
)

// job is a run whose payload and statements were found to be in order.
type job struct {
	run         *scheduler.Run
	target      *target
	deployment  string
	text        string
	statements  []statement
	transaction bool // one around all statements
	log         *runLog
	changed     int64 // rows inserted, updated and deleted
	skipped     int   // statements that an earlier attempt applied
}

// job checks all of a run that can be checked without its database. migrates is true for DATABASE_MIGRATE.
func (x *Executor) job(run *scheduler.Run, migrates bool) (*job, error) {
	if run.DatabaseID == "" {
		return nil, scheduler.BadInput("the task has no database_id: set it to the name of the database to run on")
	}
	t, ok := x.targets.Find(run.DatabaseID)
	if !ok {
		return nil, scheduler.BadInput("this replica has no database %q: add it to databases in the configuration file, "+
			"or correct the task's database_id", cut(run.DatabaseID, 200))
	}
	j := &job{run: run, target: t, deployment: *x.deployment.Load(), log: &runLog{run: run, log: x.log}}
	asked, err := j.decode()
	if err != nil {
		return nil, err
	}
	return j, j.parse(asked, migrates)
}

// decode takes the payload apart. Keys that it does not know are left alone: a run's input may carry some for others. asked is what
// the payload says of a transaction, nil: nothing.
func (j *job) decode() (asked *bool, err error) {
	var payload map[string]json.RawMessage
	if err := json.Unmarshal(j.run.Payload, &payload); err != nil || payload == nil {
		return nil, scheduler.BadInput(`the payload must be an object: {"sql": "…", "transaction": true}`)
	}
	raw, ok := payload["sql"]
	if !ok {
		return nil, scheduler.BadInput(`the payload has no "sql": set it to the statements to run`)
	}
	if isNull(raw) || json.Unmarshal(raw, &j.text) != nil {
		return nil, scheduler.BadInput(`"sql" in the payload must be a string`)
	}
	if raw, ok = payload["transaction"]; ok && (isNull(raw) || json.Unmarshal(raw, &asked) != nil) {
		return nil, scheduler.BadInput(`"transaction" in the payload must be true or false`)
	}
	return asked, nil
}

func isNull(raw json.RawMessage) bool { return bytes.Equal(raw, []byte("null")) }

// parse splits the text, refuses what could not work, and decides whether it is one transaction.
func (j *job) parse(asked *bool, migrates bool) error {
	e := j.target.engine
	var err error
	j.statements, err = e.split(j.text)
	if bad, ok := errors.AsType[*textError](err); ok {
		at := placeOf(j.text, bad.offset)
		return scheduler.BadInput(`"sql" can't be split into statements of %s: %s in line %d, character %d`, e.kind(), bad.what, at.line, at.char)
	}
	if err != nil {
		return err
	}
	if len(j.statements) == 0 {
		return scheduler.BadInput(`"sql" in the payload holds no statement`)
	}
	j.transaction = asked == nil || *asked
	for i := range j.statements {
		s := &j.statements[i]
		switch {
		case s.lacks != "":
			return scheduler.BadInput("%s can't be executed on %q (%s): %s", j.where(i), j.target.name, e.kind(), s.lacks)
		case s.locks && migrates:
			return scheduler.BadInput("%s is %s, under which the ledger of migrations can't be written: leave it out, "+
				"a DATABASE_MIGRATE is the only run on its database", j.where(i), s.command())
		case !s.commits && s.control == controlNone:
		case asked != nil && *asked && s.control != controlNone:
			return scheduler.BadInput("%s is %s, but the statements run in one transaction that begins and ends by itself: "+
				`remove it, or set "transaction": false in the payload`, j.where(i), s.command())
		case asked != nil && *asked:
			return scheduler.BadInput("%s is %s, which on %s can't be part of a transaction: "+
				`leave "transaction" out of the payload, or set it to false`, j.where(i), s.command(), e.kind())
		default:
			j.transaction = false
		}
	}
	return nil
}

// where names a statement for people.
func (j *job) where(i int) string {
	at := j.statements[i].place
	return fmt.Sprintf("statement %d of %d (line %d, character %d)", i+1, len(j.statements), at.line, at.char)
}
