package main

import (
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"
)

// Each act is done by its button on its page, and the database holds what it says.
func TestEachActOnARealDeployment(t *testing.T) {
	d := deployed(t)
	w := d.open(t)
	id := func(sql string) string { return ask[string](t, d, `SELECT max(id)::text FROM `+sql) }
	reason := func() {
		w.do(chromedp.SendKeys(chromedp.CSS("dialog input[type=text]"), "by hand"))
	}
	next := id(`rowrun.plan WHERE name = 'next month'`)
	three := id(`rowrun.task WHERE name = 'three'`)
	nightly := id(`rowrun.task WHERE name = 'nightly report'`)
	running := func() string {
		return id(`rowrun.task_run r WHERE status = 'RUNNING' AND cancel_requested_at IS NULL AND EXISTS (SELECT FROM rowrun.task k WHERE k.id = r.task_id AND k.name = 'import')`)
	}
	canceled := running()
	delivery := id(`rowrun.webhook_delivery WHERE status = 'DELIVERED'`)
	second := d.serve(t, "--replica-name", "second", "--types", "NOOP", "--concurrency", "1", "--http-addr", "off")
	d.holds(t, `SELECT EXISTS (SELECT FROM rowrun.replica_status WHERE name = 'second' AND live)`)

	for _, step := range []struct {
		page, button, within string
		fill                 func()
		holds                string
	}{
		{"plans/" + next, "Pause", "", nil, `SELECT paused FROM rowrun.plan WHERE id = ` + next},
		{"plans/" + next, "Resume", "", nil, `SELECT NOT paused FROM rowrun.plan WHERE id = ` + next},
		{"plans/" + next, "Limit", "", func() {
			w.do(chromedp.SendKeys(chromedp.CSS("dialog input[type=number]"), "2"))
		}, `SELECT parallel_limit = 2 FROM rowrun.plan WHERE id = ` + next},
		{"tasks/" + three, "Skip", "", reason, `SELECT skipped AND skip_reason = 'by hand' FROM rowrun.task WHERE id = ` + three},
		{"tasks/" + three, "Unskip", "", nil, `SELECT NOT skipped FROM rowrun.task WHERE id = ` + three},
		{"tasks/" + three, "Pause", "", nil, `SELECT paused FROM rowrun.task WHERE id = ` + three},
		{"tasks/" + three, "Resume", "", nil, `SELECT NOT paused FROM rowrun.task WHERE id = ` + three},
		{"tasks/" + three, "Run", "", nil, `SELECT status = 'DONE' FROM rowrun.task_status WHERE task_id = ` + three},
		{"plans/" + next, "Run 2", "", nil, `SELECT status = 'DONE' FROM rowrun.plan_status WHERE plan_id = ` + next},
		{"plans/" + d.moved, "Resume the wave", "", nil, `SELECT count(*) = 2 FROM rowrun.task_run WHERE status = 'FAILED' AND plan_id = ` + d.moved},
		{"plans/" + d.moved, "Roll on", "", nil, `SELECT bool_and(opened_at IS NOT NULL) FROM rowrun.plan_wave WHERE plan_id = ` + d.moved},
		{"plans/" + d.given, "Give up", "", reason, `SELECT canceled > 0 AND pending = 0 FROM rowrun.plan_status WHERE plan_id = ` + d.given},
		{"schedules", "Pause", "nightly report", nil, `SELECT paused FROM rowrun.task WHERE id = ` + nightly},
		{"schedules", "Resume", "nightly report", nil, `SELECT NOT paused FROM rowrun.task WHERE id = ` + nightly},
		{"runs/" + canceled, "Cancel", "", reason, `SELECT status = 'CANCELED' AND cancel_reason = 'by hand' FROM rowrun.task_run WHERE id = ` + canceled},
		{"runs/" + canceled, "Retry", "", nil, `SELECT EXISTS (SELECT FROM rowrun.task_run WHERE retry_of = ` + canceled + ` AND status = 'RUNNING')`},
		{"runs/RUNNING", "Abandon", "", reason, `SELECT EXISTS (SELECT FROM rowrun.task_run WHERE result ->> 'code' = 'ABANDONED')`},
		{"deliveries/" + delivery, "Redeliver", "", nil, `SELECT status = 'DELIVERED' AND attempts = 1 FROM rowrun.webhook_delivery WHERE id = ` + delivery},
		{"webhooks/1", "Test", "", nil, `SELECT state = 'DONE' FROM rowrun.act WHERE verb = 'test' ORDER BY id DESC LIMIT 1`},
		{"limits?name=slow", "Limit", "", func() {
			w.do(chromedp.Evaluate[chromedp.Void]("document.querySelector('dialog input[type=number]').select()"), chromedp.SendKeys(chromedp.CSS("dialog input[type=number]"), "3"))
		}, `SELECT max_running = 3 FROM rowrun.concurrency_limit WHERE name = 'slow'`},
		{"limits?name=slow", "Pause", "", nil, `SELECT not_before BETWEEN now() + interval '50 min' AND now() + interval '70 min' FROM rowrun.concurrency_limit WHERE name = 'slow'`},
		{"limits?name=slow", "Resume", "", nil, `SELECT not_before IS NULL FROM rowrun.concurrency_limit WHERE name = 'slow'`},
		{"limits", "Delete", "spare", nil, `SELECT NOT EXISTS (SELECT FROM rowrun.concurrency_limit WHERE name = 'spare')`},
		{"replicas", "Pause", "second", nil, `SELECT paused_at IS NOT NULL FROM rowrun.replica_heartbeat WHERE name = 'second'`},
		{"replicas", "Resume", "second", nil, `SELECT paused_at IS NULL FROM rowrun.replica_heartbeat WHERE name = 'second'`},
		{"replicas", "Drain", "second", nil, `SELECT NOT EXISTS (SELECT FROM rowrun.replica_status WHERE name = 'second' AND live AND state = 'ACTIVE')`},
	} {
		if step.page == "runs/RUNNING" {
			step.page = "runs/" + running()
		}
		acts := ask[int](t, d, `SELECT count(*)::integer FROM rowrun.act`)
		w.visit(step.page)
		w.perform(step.button, step.within, step.fill)
		d.holds(t, step.holds)
		require.Equal(t, acts+1, ask[int](t, d, `SELECT count(*)::integer FROM rowrun.act`), step.button)
		require.Equal(t, "dev", ask[string](t, d, `SELECT asked_by FROM rowrun.act ORDER BY id DESC LIMIT 1`))
	}
	var status *exec.ExitError
	if err := second.Wait(); err != nil {
		require.ErrorAs(t, err, &status)
		require.Fail(t, "a replica that was drained ends well", err)
	}
	w.visit("acts")
	require.Contains(t, eval[string](w, "document.querySelector('main').innerText"), "by hand")
	w.quiet()
}

// A plan's failures are retried as a group, and by somebody who has a keyboard only.
func TestARetryByKeyboardAloneOnARealDeployment(t *testing.T) {
	d := deployed(t)
	w := d.open(t)
	w.visit("plans/" + d.plan + "?status=FAILED&view=list")
	before := ask[int](t, d, `SELECT count(*)::integer FROM rowrun.task_run WHERE plan_id = `+d.plan)
	w.key("j")
	w.until("document.activeElement.closest('[data-row]')", "the first row has the focus")
	w.key(kb.Enter)
	w.until("document.querySelector('.panel .button.primary')", "the panel offers a retry")
	w.tabTo(".panel .button.primary")
	w.key(kb.Enter)
	w.until("document.querySelector('dialog button[type=submit]:not(:disabled)')", "a preview")
	w.tabTo("dialog button[type=submit]")
	w.key(kb.Enter)
	w.until("document.querySelector('dialog .outcome')", "what it did")
	require.Equal(t, before+1, ask[int](t, d, `SELECT count(*)::integer FROM rowrun.task_run WHERE plan_id = `+d.plan))
	w.key(kb.Escape)
	w.until("!document.querySelector('dialog')", "the page")
	d.holds(t, `SELECT failed = 2 FROM rowrun.plan_status WHERE plan_id = `+d.plan) // it fails again

	w.visit("plans/" + d.plan)
	w.until("document.querySelector('.failures .button')?.textContent.includes('2')", "a group of two failures, also where the page was opened while one of them ran")
	require.True(t, eval[bool](w, "document.querySelector('.failures .button').click() ?? true"))
	w.until("document.querySelector('dialog .says')?.textContent.includes('2')", "a preview of two")
	require.True(t, eval[bool](w, "document.querySelector('dialog button[type=submit]').click() ?? true"))
	w.until("document.querySelector('dialog .outcome')", "what it did")
	require.Equal(t, before+3, ask[int](t, d, `SELECT count(*)::integer FROM rowrun.task_run WHERE plan_id = `+d.plan))
	d.holds(t, `SELECT failed = 2 FROM rowrun.plan_status WHERE plan_id = `+d.plan)
	w.quiet()
}

// An act on all that a filter names reaches more than a page shows, and its runs can be listed afterwards.
func TestAnActOnAFilterOfARealDeployment(t *testing.T) {
	d := deployed(t)
	ask[int](t, d, `SELECT count(rowrun.run_task('shaky'))::integer FROM generate_series(1, 120)`)
	d.holds(t, `SELECT count(*) = 0 FROM rowrun.task_run r JOIN rowrun.task k ON k.id = r.task_id WHERE k.name = 'shaky' AND r.status IN ('PENDING', 'AVAILABLE', 'RUNNING')`)
	failed := ask[int](t, d, `SELECT count(*)::integer FROM rowrun.failed_run WHERE task = 'shaky'`)
	require.Greater(t, failed, 100)
	w := d.open(t)
	w.visit("runs?status=FAILED&task=shaky")
	w.do(chromedp.Click(chromedp.CSS("thead input[type=checkbox]")))
	w.until("document.querySelector('.selection .all button')", "all that match")
	w.do(chromedp.Click(chromedp.CSS(".selection .all button")))
	w.until("document.querySelector('dialog .says')?.textContent.includes('"+strconv.Itoa(failed)+"')", "the count")
	w.do(chromedp.Click(chromedp.CSS("dialog button[type=submit]")))
	w.until("document.querySelector('dialog .outcome b')?.textContent.includes('"+strconv.Itoa(failed)+"')", "the result")
	act := eval[string](w, "document.querySelector('dialog .outcome a').getAttribute('href')")
	w.visit(act)
	w.do(chromedp.Click(chromedp.CSS("main a[href*='act=']")))
	w.until("document.querySelectorAll('main tbody tr[data-row]').length === 50", "a page of its runs")
	made := ask[string](t, d, `SELECT max(r)::text FROM rowrun.act a, unnest(a.runs) r WHERE a.id = `+strings.TrimPrefix(act, "acts/"))
	require.Contains(t, eval[string](w, "document.querySelector('main tbody').innerText"), "#"+made)
	w.quiet()
}

// tabTo presses Tab until what a selector names has the focus.
func (w *tab) tabTo(selector string) {
	w.t.Helper()
	for range 60 {
		if eval[bool](w, "document.activeElement.matches("+strconv.Quote(selector)+")") {
			return
		}
		w.key(kb.Tab)
	}
	require.FailNow(w.t, "the focus never came to "+selector)
}
