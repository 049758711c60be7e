package dbexec

import (
	"context"
	"time"

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

// runLog writes what a run did to task_run_log. That it can't is no reason for a run to fail, nor for its transaction to stay open
// long: after a failure nothing is tried for a while.
type runLog struct {
	run     *scheduler.Run
	log     zerolog.Logger
	paused  time.Time
	notices int
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
	// Recognized is the engine's refusal by which a statement of an earlier attempt was known.
	Recognized string `json:"recognized,omitempty"`
}

type noticeRow struct {
	Severity string `json:"severity"`
	Code     string `json:"code,omitempty"`
	Message  string `json:"message"`
}

// errorRow is what the run's log keeps of a failure.
type errorRow struct {
	Code    string `json:"code"`
	Detail  string `json:"detail"`
	SQL     string `json:"sql,omitempty"`
	Message string `json:"message,omitempty"`
}

// say writes what a person should know of the run.
func (l *runLog) say(ctx context.Context, message string) {
	l.notice(ctx, noticeRow{Severity: "LOG", Message: cut(message, maxNoticeText)})
}

func (l *runLog) notice(ctx context.Context, row noticeRow) {
	l.notices++
	switch {
	case l.notices < maxNotices:
		l.add(ctx, "notice", row)
	case l.notices == maxNotices:
		l.add(ctx, "notice", noticeRow{Severity: "LOG", Message: "further notices of this run are not kept"})
	}
}

// add writes a row, also after ctx has ended: how a run was stopped belongs to its story.
func (l *runLog) add(ctx context.Context, kind string, detail any) {
	l.try(ctx, func(ctx context.Context) error { return l.run.Log(ctx, kind, detail) })
}

// progress says which statement comes next, so that a progress_timeout can tell a long text from one statement that hangs.
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
