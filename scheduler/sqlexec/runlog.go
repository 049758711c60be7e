package sqlexec

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/rs/zerolog"

	"github.com/rowrun/rowrun/scheduler"
)

const (
	logLimit      = 5 * time.Second  // for one row
	logPause      = 30 * time.Second // after a row that could not be written
	maxNotices    = 100              // kept of a run
	maxNoticeText = 1 << 10          // bytes
	maxLoggedSQL  = 4 << 10          // bytes
	progressEvery = time.Second
)

// runLog writes what a run did to task_run_log. That it can't is no reason for a
// run to fail, nor for its transaction to stay open long: after a failure nothing
// is tried for a while.
type runLog struct {
	run     *scheduler.Run
	log     zerolog.Logger
	paused  time.Time
	pending []noticeRow
	notices int // so far, also those not kept
	shown   time.Time
}

type statementRow struct {
	Index        int     `json:"index"`
	Of           int     `json:"of"`
	Line         int     `json:"line"`
	SQL          string  `json:"sql"`
	Tag          string  `json:"command_tag"`
	RowsAffected int64   `json:"rows_affected"`
	DurationMS   float64 `json:"duration_ms"`
}

type noticeRow struct {
	Severity string `json:"severity"`
	Code     string `json:"code,omitempty"`
	Message  string `json:"message"`
	Detail   string `json:"detail,omitempty"`
	Hint     string `json:"hint,omitempty"`
}

// notice keeps a notice of the server until flush. It is called while a
// statement is being read, where nothing may wait.
func (l *runLog) notice(n *pgconn.Notice) {
	l.notices++
	if l.notices > maxNotices {
		return
	}
	l.pending = append(l.pending, noticeRow{
		Severity: n.Severity,
		Code:     n.Code,
		Message:  cut(n.Message, maxNoticeText),
		Detail:   cut(n.Detail, maxNoticeText),
		Hint:     cut(n.Hint, maxNoticeText),
	})
	if l.notices == maxNotices {
		l.pending = append(l.pending, noticeRow{Severity: "LOG", Message: "further notices of this run are not kept"})
	}
}

func (l *runLog) flush(ctx context.Context) {
	for _, row := range l.pending {
		l.add(ctx, "notice", row)
	}
	l.pending = nil
}

// add writes a row, also after ctx has ended: how a run was stopped belongs to its story.
func (l *runLog) add(ctx context.Context, kind string, detail any) {
	l.try(ctx, func(ctx context.Context) error { return l.run.Log(ctx, kind, detail) })
}

// progress says which statement comes next, so that a progress_timeout can
// tell a long text from one statement that hangs.
func (l *runLog) progress(ctx context.Context, next, of int) {
	if time.Since(l.shown) < progressEvery {
		return
	}
	l.shown = time.Now()
	l.try(ctx, func(ctx context.Context) error {
		return l.run.Progress(ctx, map[string]int{"statement": next, "of": of})
	})
}

func (l *runLog) try(ctx context.Context, f func(context.Context) error) {
	if time.Now().Before(l.paused) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), logLimit)
	defer cancel()
	if err := f(ctx); err != nil {
		l.paused = time.Now().Add(logPause)
		l.log.Warn().Err(err).Int64("run_id", l.run.ID).Msg("task_run_log not written")
	}
}
