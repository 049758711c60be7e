package store

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// RefusedRow says whether an error is about the row that was to be written, and not about the database, the role or
// somebody's lock: what comes with it in one statement is then better written apart, and the row itself with less.
func RefusedRow(err error) bool {
	code := SQLState(err)
	if len(code) != 5 {
		return false
	}
	switch code[:2] {
	case "22", "23", "54", "P0", "RR":
		return true
	}
	return false
}

// OneByOne says whether a statement that failed for many is to be tried for each: the fault is not one of the connection, the
// server or a lock, under which all of them would fail alike.
func OneByOne(err error) bool {
	code := SQLState(err)
	if len(code) != 5 {
		return false
	}
	switch code[:2] {
	case "08", "25", "28", "40", "53", "55", "57", "58":
		return false
	}
	return true
}

// endEach ends runs by one statement, and where it is refused each by itself: first as it should be, then without a
// successor. What can't be ended at all is left as it is, for the next sweep to try again, and told in refused. end is
// given the runs, the retry and a text for the detail, "" for none. tx goes on either way, unless err says otherwise.
func endEach(ctx context.Context, tx pgx.Tx, runs []int64, retry Retry, end func(tx pgx.Tx, runs []int64, retry Retry, also string) ([]Ended, error)) (ended []Ended, refused, err error) {
	apart := func(runs []int64, retry Retry, also string) ([]Ended, error) {
		var ended []Ended
		err := pgx.BeginFunc(ctx, tx, func(inner pgx.Tx) (err error) {
			ended, err = end(inner, runs, retry, also)
			return err
		})
		return ended, err
	}
	ended, err = apart(runs, retry, "")
	if err == nil || !OneByOne(err) {
		return ended, nil, err
	}
	for _, id := range runs {
		one, err := ended, err
		if len(runs) > 1 {
			one, err = apart([]int64{id}, retry, "")
		}
		if RefusedRow(err) {
			one, err = apart([]int64{id}, RetryNone, " (no successor could be made: "+message(err)+")")
		}
		if err != nil && !OneByOne(err) {
			return nil, nil, err
		}
		if err != nil {
			refused = errors.Join(refused, fmt.Errorf("run %d: %w", id, err))
			continue
		}
		ended = append(ended, one...)
	}
	return ended, refused, nil
}

// message is the first line of what the server says of an error, short enough for a detail.
func message(err error) string {
	text := err.Error()
	if server, ok := errors.AsType[*pgconn.PgError](err); ok {
		text = server.Message
	}
	text, _, _ = strings.Cut(text, "\n")
	if runes := []rune(text); len(runes) > 500 {
		text = string(runes[:499]) + "…"
	}
	return text
}
