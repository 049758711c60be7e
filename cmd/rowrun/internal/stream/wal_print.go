package stream

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/rowrun/rowrun/events"
	"github.com/rowrun/rowrun/store"
)

// print writes the lines of transactions, and confirms them when they are
// written. After an error nothing more may be printed: what was not is read again.
func (w *WAL) print(ctx context.Context, txs []events.Tx, rep *events.Replication) error {
	lines, err := w.linesOf(txs)
	if err != nil {
		return err
	}
	if err := w.complete(ctx, lines); err != nil {
		return err // ctx is over
	}
	for i := range lines {
		w.config.Printer.transition(lines[i].line)
	}
	if err := w.config.Printer.flush(); err != nil {
		return err
	}
	for i := range lines {
		w.printed.set(lines[i].RunID, rank(lines[i].To))
	}
	if w.printed.full() && w.recorded.Load() > w.turnedAt.UnixNano() {
		// Rows that tell what came since the moment that was written down tell nothing of what is forgotten now.
		w.printed.turn()
		w.turnedAt = time.Now()
	}
	w.lines.Add(uint64(len(lines)))
	end := events.LSN(0)
	for i := range txs {
		w.told = max(w.told, txs[i].LSN)
		if txs[i].End != 0 {
			w.last, end = txs[i].LSN, txs[i].End
		}
	}
	if end != 0 {
		rep.Confirm(end)
	}
	return nil
}

// read is a line whose row may have to be completed.
type read struct {
	line
	apart bool
}

func (w *WAL) linesOf(txs []events.Tx) ([]read, error) {
	var lines []read
	for i := range txs {
		tx := &txs[i]
		if tx.LSN <= w.last {
			continue // a new connection begins with what was confirmed too late
		}
		lsn := tx.LSN.String()
		for j := range tx.Rows {
			row := &tx.Rows[j]
			if row.Relation != w.rel {
				layout, err := columnsOf(row.Relation)
				if err != nil {
					return nil, err
				}
				w.rel, w.layout = row.Relation, layout
			}
			l, ok, apart, err := lineOf(&w.layout, row)
			if err != nil {
				return nil, err
			}
			if !ok {
				continue // no change of status
			}
			told := uint8(0) // by the rows
			if tx.LSN < w.overlap {
				told = w.printed.at(l.RunID)
			}
			if l.From == "PENDING" && l.To == "RUNNING" { // one version of the row, two edges
				if told < rank("AVAILABLE") {
					first := available(l.row)
					first.lsn = lsn
					lines = append(lines, read{first, false})
				}
				l.From = "AVAILABLE"
			}
			l.lsn = lsn
			if told < rank(l.To) {
				lines = append(lines, read{l, apart})
			}
			if row.Inserted && l.row.Status == "AVAILABLE" && told < rank("AVAILABLE") {
				l = available(l.row)
				l.lsn = lsn
				lines = append(lines, read{l, false})
			}
		}
	}
	return lines, nil
}

// label is what was read of a task, and when.
type label struct {
	store.TaskLabel
	read time.Time
}

// fits says whether a label is good enough for a line: a failure's level has to be a fresh one.
func (b *label) fits(l *line) bool {
	return !b.read.IsZero() && (l.To != "FAILED" || time.Since(b.read) < labelAge)
}

// complete adds what the log doesn't hold: the names of tasks, once for each, how loud their failures are, and results
// that are stored apart and were written before the run ended.
func (w *WAL) complete(ctx context.Context, lines []read) error {
	if len(w.labels) > maxLabels {
		clear(w.labels)
	}
	missing, apart := map[int64]bool{}, []int64(nil)
	for i := range lines {
		if known := w.labels[lines[i].TaskID]; !known.fits(&lines[i].line) {
			missing[lines[i].TaskID] = true
		}
		if lines[i].apart {
			apart = append(apart, lines[i].RunID)
		}
	}
	if err := w.learn(ctx, missing); err != nil {
		return err
	}
	results := map[int64]*store.StreamRow{}
	if len(apart) > 0 {
		var rows []store.StreamRow
		err := w.retry(ctx, func(ctx context.Context) (err error) {
			rows, err = w.config.Store.StreamRows(ctx, apart)
			return err
		})
		if err != nil {
			return err
		}
		for i := range rows {
			results[rows[i].ID] = &rows[i]
		}
	}
	for i := range lines {
		l := &lines[i]
		l.row.TaskName, l.row.FailureLogLevel = w.labels[l.TaskID].Name, w.labels[l.TaskID].FailureLogLevel
		if row := results[l.RunID]; l.apart && row != nil {
			l.row.Code, l.row.Detail = row.Code, row.Detail
		}
	}
	return nil
}

func (w *WAL) learn(ctx context.Context, missing map[int64]bool) error {
	if len(missing) == 0 {
		return nil
	}
	ids := make([]int64, 0, len(missing))
	for id := range missing {
		ids = append(ids, id)
	}
	var labels map[int64]store.TaskLabel
	err := w.retry(ctx, func(ctx context.Context) (err error) {
		labels, err = w.config.Store.TaskLabels(ctx, ids)
		return err
	})
	if err != nil {
		return err
	}
	now := time.Now()
	for _, id := range ids {
		found, there := labels[id]
		if !there {
			found = w.labels[id].TaskLabel // it has been removed: what was known of it, if anything was
		}
		w.labels[id] = label{found, now}
	}
	return nil
}

func (w *WAL) retry(ctx context.Context, ask func(context.Context) error) error {
	return repeat(ctx, queryTimeout, rand.Float64, ask, w.complain)
}
