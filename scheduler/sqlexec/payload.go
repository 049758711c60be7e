package sqlexec

import (
	"bytes"
	"encoding/json"
	"errors"

	"github.com/rowrun/rowrun/scheduler"
)

// job is a run whose payload and statements were found to be in order.
type job struct {
	run         *scheduler.Run
	target      *target
	text        string
	statements  []statement
	transaction bool
	params      [][]byte // values of $1, $2 …, as text; nil: NULL
	log         *runLog
	changed     int64 // rows inserted, updated, deleted, merged or copied
}

// job checks all of a run that can be checked without its database.
func (x *Executor) job(run *scheduler.Run) (*job, error) {
	if run.DatabaseID == "" {
		return nil, scheduler.BadInput("the task has no database_id: set it to the name of the database to run on")
	}
	t, ok := x.targets.Find(run.DatabaseID)
	if !ok {
		return nil, scheduler.BadInput("this replica has no database %q: add it to databases in the configuration file, "+
			"or correct the task's database_id", cut(run.DatabaseID, 200))
	}
	j := &job{run: run, target: t, log: &runLog{run: run, log: x.log}}
	if err := j.decode(); err != nil {
		return nil, err
	}
	return j, j.parse()
}

// maxParams is how many parameters a statement of PostgreSQL takes.
const maxParams = 65535

// decode takes the payload apart. Keys that it does not know are left alone:
// a run's input may carry some for others.
func (j *job) decode() error {
	var payload map[string]json.RawMessage
	if err := json.Unmarshal(j.run.Payload, &payload); err != nil || payload == nil {
		return scheduler.BadInput(`the payload must be an object: {"sql": "…", "transaction": true}`)
	}
	raw, ok := payload["sql"]
	if !ok {
		return scheduler.BadInput(`the payload has no "sql": set it to the statements to run`)
	}
	if isNull(raw) || json.Unmarshal(raw, &j.text) != nil {
		return scheduler.BadInput(`"sql" in the payload must be a string`)
	}
	j.transaction = true
	if raw, ok = payload["transaction"]; ok && (isNull(raw) || json.Unmarshal(raw, &j.transaction) != nil) {
		return scheduler.BadInput(`"transaction" in the payload must be true or false`)
	}
	if raw, ok = payload["params"]; ok {
		return j.decodeParams(raw)
	}
	return nil
}

// decodeParams takes the values of $1, $2 and so on: texts as they are, everything else as JSON writes it, null as NULL.
func (j *job) decodeParams(raw json.RawMessage) error {
	var values []json.RawMessage
	if json.Unmarshal(raw, &values) != nil || len(values) > maxParams {
		return scheduler.BadInput(`"params" in the payload must be an array of at most %d values`, maxParams)
	}
	j.params = make([][]byte, len(values))
	for i, value := range values {
		var text string
		switch {
		case isNull(value):
		case value[0] == '"' && json.Unmarshal(value, &text) == nil:
			j.params[i] = []byte(text)
		default:
			j.params[i] = value
		}
	}
	return nil
}

func isNull(raw json.RawMessage) bool { return bytes.Equal(raw, []byte("null")) }

// parse splits the text and refuses what could not work.
func (j *job) parse() error {
	var err error
	j.statements, err = split(j.text)
	var bad *textError
	if errors.As(err, &bad) {
		at := placeOf(j.text, bad.offset)
		return scheduler.BadInput(`"sql" can't be split into statements: %s in line %d, character %d`, bad.what, at.line, at.char)
	}
	if len(j.statements) == 0 {
		return scheduler.BadInput(`"sql" in the payload holds no statement`)
	}
	for i := range j.statements {
		s := &j.statements[i]
		if s.client {
			return scheduler.BadInput("statement %d of %d (line %d, character %d) copies from or to the client, "+
				"and there is none: use INSERT, or COPY with a file or program of the server",
				i+1, len(j.statements), s.place.line, s.place.char)
		}
		if control := s.transactionControl(); control != "" && j.transaction {
			return scheduler.BadInput("statement %d of %d (line %d, character %d) is %s, but the statements run in one transaction "+
				`that begins and ends by itself: remove it, or set "transaction": false in the payload`,
				i+1, len(j.statements), s.place.line, s.place.char, control)
		}
	}
	return nil
}
