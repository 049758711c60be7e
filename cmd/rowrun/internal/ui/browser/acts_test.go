package main

import (
	"fmt"
	"strconv"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/ui/uitest"
)

// press clicks the first button of those that a selector names whose text begins so.
func (w *tab) press(where, name string) {
	w.t.Helper()
	button := fmt.Sprintf("[...document.querySelectorAll(%q)].find((b) => b.textContent.trim().startsWith(%q) && !b.disabled)", where, name)
	w.until(button, name)
	require.True(w.t, eval[bool](w, button+".click() ?? true"))
}

// chip is how many tasks of a rollout have a status.
func (w *tab) chip(status string) int {
	w.t.Helper()
	return eval[int](w, chipOf(status))
}

func chipOf(status string) string {
	return fmt.Sprintf("Number(document.querySelector('.chip.st-%s b').textContent.replace(/\\D/g, ''))", status)
}

func TestASelectionEndsWithItsAct(t *testing.T) {
	w := open(t, uitest.Options{})
	w.visit("plans/7?status=FAILED")
	w.press(".toolbar button", "Select all")
	w.press(".selection button", "Retry")
	w.press("dialog button[type=submit]", "Retry")
	w.until("document.querySelector('dialog .outcome')", "what it did")
	w.key(kb.Escape)
	w.until("!document.querySelector('dialog')", "the page")
	require.False(t, eval[bool](w, "Boolean(document.querySelector('.selection'))"), "what was retried is selected no more")
	require.Equal(t, 1, w.api.Acts())
	w.quiet()
}

// More than an act may name go by their filter. Those that have another status by now aren't named by it: what is offered for
// them would have to leave the status out, and reach all of the plan.
func TestASelectionGoesByNoFilterThatDoesNotNameIt(t *testing.T) {
	w := open(t, uitest.Options{})
	w.visit("plans/8?status=PENDING")
	w.until("document.querySelector('.live.live')", "live")
	pending, failed := w.chip("PENDING"), w.chip("FAILED")
	const gone = 1200
	require.Greater(t, pending, gone+1000)
	w.press(".toolbar button", "Select all")
	w.until("document.querySelector('.selection')?.textContent.includes('Cancel')", "what is selected is PENDING")
	for range gone {
		require.NotEmpty(t, w.api.Change("8", 'P', 'F'))
	}
	w.until(fmt.Sprintf("%s === %d", chipOf("FAILED"), failed+gone), "they have failed")
	count := func(act string) string {
		return fmt.Sprintf("Number([...document.querySelectorAll('.selection button')].find((b) => b.textContent.trim().startsWith(%q))?.querySelector('b').textContent.replace(/\\D/g, '') ?? 0)", act)
	}
	w.until(fmt.Sprintf("%s === %d", count("Cancel"), pending-gone), "the others can be canceled")
	require.Equal(t, pending-gone, eval[int](w, count("Skip")), "those that the filter names")
	require.Zero(t, eval[int](w, count("Retry")), "a retry would be one of the whole plan")
	w.quiet()
}

// Skipped is the task, whatever its run says.
func TestATaskThatRanIsShownAsSkipped(t *testing.T) {
	w := open(t, uitest.Options{})
	w.visit("plans/7")
	w.until("document.querySelector('.live.live')", "live")
	skipped, failed, canceled := w.chip("SKIPPED"), w.chip("FAILED"), w.chip("CANCELED")
	tasks := []string{"700256", "700320", "700292"} // FAILED, CANCELED, PENDING
	all := func(act string, n int) {
		t.Helper()
		for _, task := range tasks {
			w.api.Act(task, act)
		}
		require.NotEmpty(t, w.api.Change("7", 'R', 'D')) // has the page read
		w.until(fmt.Sprintf("%s === %d", chipOf("SKIPPED"), n), act)
	}
	all("skip", skipped+3)
	require.Equal(t, failed-1, w.chip("FAILED"))
	require.Equal(t, canceled-1, w.chip("CANCELED"))

	running := w.chip("RUNNING")
	w.api.Tell(`{"level":"info","time":"2026-11-26T20:00:00.000000Z","stream":"task_run","event":"task_run.canceled","run_id":90071992547700292,"root_id":90071992547700292,"task_id":700292,"plan_id":7,"attempt":0,"from":"PENDING","to":"CANCELED","retry_run_id":null}`)
	require.NotEmpty(t, w.api.Change("7", 'R', 'D'))
	w.until(chipOf("RUNNING")+" === "+strconv.Itoa(running-1), "the line behind it was read")
	require.Equal(t, skipped+3, w.chip("SKIPPED"), "its run was canceled")

	all("unskip", skipped)
	require.Equal(t, failed, w.chip("FAILED"), "as its run left it")
	w.quiet()
}

func TestAPollKeepsTheKeyOfALimit(t *testing.T) {
	w := open(t, uitest.Options{})
	w.visit("limits?name=tenants&key=acme")
	current := "document.querySelector('main td a[aria-current=true]')?.textContent"
	w.until(current+" === 'acme'", "the key of the address")
	w.do(chromedp.Evaluate[chromedp.Void]("[...document.querySelectorAll('main td a')].find((a) => a.textContent === 'globex').click()"))
	w.until(current+" === 'globex'", "another key")
	at := eval[float64](w, "performance.now()")
	w.until(fmt.Sprintf("performance.getEntriesByType('resource').some((one) => one.name.includes('/limits/tenants') && one.startTime > %f)", at), "the next poll")
	<-wait()
	require.Equal(t, "globex", eval[string](w, current))
	w.quiet()
}

// What goes on at the server is watched until it ends, also where a look at it was not answered.
func TestAnActIsWatchedBeyondALookWithoutAnAnswer(t *testing.T) {
	w := open(t, uitest.Options{Slow: true})
	w.visit("runs?status=FAILED")
	w.do(chromedp.Click(chromedp.CSS("thead input[type=checkbox]")))
	w.press(".selection .all button", "Retry all")
	w.press("dialog button[type=submit]", "Retry")
	w.until("document.querySelector('dialog .outcome progress')", "it goes on")
	w.api.Away("acts/{id}", 2)
	w.until("document.querySelector('dialog [role=alert]')", "the look that was not answered")
	w.api.EndActs()
	w.until("document.querySelector('dialog .outcome') && !document.querySelector('dialog .outcome progress')", "its end")
	require.False(t, eval[bool](w, "Boolean(document.querySelector('dialog [role=alert]'))"))
	w.quiet("503")
}

func TestThePageOfAnActIsReadBeyondALookWithoutAnAnswer(t *testing.T) {
	w := open(t, uitest.Options{Slow: true})
	w.visit("runs/90071992547700239")
	w.do(chromedp.Click(chromedp.CSS("main .acts .primary")))
	w.press("dialog button[type=submit]", "Retry")
	w.until("document.querySelector('dialog .outcome progress')", "it goes on")
	w.visit("acts/1")
	w.until("document.querySelector('.outcome progress')", "its page")
	w.api.Away("acts/{id}", 2)
	w.until("document.querySelector('main [role=alert]')", "the look that was not answered")
	w.api.EndActs()
	w.until("document.querySelector('.outcome') && !document.querySelector('.outcome progress')", "its end")
	w.quiet("503")
}

// After an answer that was lost nobody knows what was done: the same again is the same act, and another reason is another one.
func TestAnotherReasonAfterALostAnswerIsAnotherAct(t *testing.T) {
	w := open(t, uitest.Options{})
	w.visit("runs/90071992547700490")
	w.press("main .acts button", "Cancel")
	w.until("document.querySelector('dialog input[type=text]')", "the reason")
	w.do(chromedp.SendKeys(chromedp.CSS("dialog input[type=text]"), "late"))
	w.api.Away("acts", 2)
	for n := range 2 {
		w.press("dialog button[type=submit]", "Cancel")
		w.until(fmt.Sprintf("performance.getEntriesByType('resource').filter((one) => one.name.endsWith('/acts')).length === %d && document.querySelector('dialog [role=alert]')", n+2), "an answer that tells nothing")
	}
	require.Equal(t, 1, w.api.Acts(), "the same was sent twice")
	w.do(chromedp.SendKeys(chromedp.CSS("dialog input[type=text]"), "r"))
	w.press("dialog button[type=submit]", "Cancel")
	w.until("document.querySelector('dialog .outcome')", "what it did")
	require.Equal(t, 2, w.api.Acts())
	w.quiet("503")
}
