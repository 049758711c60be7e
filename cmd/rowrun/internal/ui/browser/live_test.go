package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/ui/uitest"
)

const pollEvery = 50 * time.Millisecond

func TestACellChangesAsTheStreamTells(t *testing.T) {
	w := open(t, uitest.Options{})
	w.visit("plans/9")
	w.visit("plans/7")
	w.until("document.querySelector('.live.live')", "live")
	running := "Number(document.querySelector('.chip.st-RUNNING b').textContent)"
	before := eval[int](w, running)
	require.NotEmpty(t, w.api.Change("7", 'R', 'D'))
	w.until(running+" !== "+strconv.Itoa(before), "one runs less")
	w.quiet()
}

func TestAfterAGapThePageReadsAgain(t *testing.T) {
	w := open(t, uitest.Options{})
	w.visit("plans/7")
	w.until("document.querySelector('.live.live')", "live")
	read := w.api.Asked("plans/{id}/grid")
	w.api.CutOff(true)
	w.until("document.querySelector('.live.reconnecting')", "reconnecting")
	require.Eventually(t, func() bool {
		return slices.ContainsFunc(w.said(), func(s string) bool { return strings.Contains(s, "503") })
	}, patience, pollEvery, "refused")
	require.NotEmpty(t, w.api.Change("7", 'A', 'D'), "while nobody hears")
	w.api.CutOff(false)
	w.until("document.querySelector('.live.live')", "live again")
	require.Eventually(t, func() bool { return w.api.Asked("plans/{id}/grid") > read }, patience, pollEvery, "it reads what it missed")
	read = w.api.Asked("plans/{id}/grid")
	w.api.Tell(`{"level":"warn","event":"stream.gap","message":"lines may be missing"}`)
	require.Eventually(t, func() bool { return w.api.Asked("plans/{id}/grid") > read }, patience, pollEvery, "a gap")
	w.quiet("503")
}

// An answer may be a second old: a page reads again once its stream is open, and once nothing more comes, so that it shows what has
// become even where nothing happens afterwards.
func TestAPageReadsOnceMoreWhenItStandsStill(t *testing.T) {
	w := open(t, uitest.Options{})
	w.visit("plans/7")
	require.Eventually(t, func() bool { return w.api.Asked("plans/{id}/grid") >= 2 }, patience, pollEvery, "what happened before the stream was open")
	eval[bool](w, "new Promise((done) => setTimeout(() => done(true), 4000))") // until it may ask at once
	at := eval[float64](w, "performance.now()")
	require.NotEmpty(t, w.api.Change("7", 'R', 'F'))
	w.until(fmt.Sprintf("performance.getEntriesByType('resource').some((one) => one.name.includes('/grid?since=') && one.startTime > %f + 1000)", at), "a reading when no answer can be older than the line")
	w.quiet()
}

func TestPausingClosesTheStream(t *testing.T) {
	w := open(t, uitest.Options{})
	w.visit("plans/7")
	w.until("document.querySelector('.live.live')", "live")
	require.Eventually(t, func() bool { return w.api.Readers() == 1 }, patience, pollEvery, "one stream a page")
	w.do(chromedp.Click(chromedp.CSS(".live")))
	w.until("document.querySelector('.live.paused')", "paused")
	require.Eventually(t, func() bool { return w.api.Readers() == 0 }, patience, pollEvery)
}

// TestTenThousandTasksStaySmooth compares the same page with and without transitions, in one run: what else a
// machine does slows both, so the best of a few looks counts.
func TestTenThousandTasksStaySmooth(t *testing.T) {
	const frames = `new Promise((done) => { let n = 0; const from = performance.now(); const step = (now) => { n++; now - from < 3000 ? requestAnimationFrame(step) : done(n) }; requestAnimationFrame(step) })`
	measure := func(rate, looks, enough int) int {
		w := open(t, uitest.Options{Rate: rate})
		w.visit("plans/8")
		w.until("document.querySelector('.map canvas') && document.querySelector('.live.live')", "the map")
		<-wait()
		n := 0
		for range looks {
			if n = max(n, eval[int](w, frames)); n >= enough {
				break
			}
		}
		asked := w.api.Asked("plans/{id}/grid") + w.api.Asked("plans/{id}")
		require.LessOrEqual(t, asked, 2*20, "two questions a second at most")
		return n
	}
	still := measure(0, 2, 1000)
	busy := measure(500, 5, still*8/10)
	t.Logf("%d frames without, %d with 500 transitions a second", still, busy)
	require.GreaterOrEqual(t, float64(busy), 0.8*float64(still))
}

func TestOnlyTheScreenStandsInTheDocument(t *testing.T) {
	w := open(t, uitest.Options{})
	for _, view := range []string{"map", "list", "grid"} {
		w.visit("plans/8?view=" + view)
		require.Less(t, eval[int](w, "document.querySelectorAll('*').length"), 6000, view)
	}
	w.until("document.querySelector('.cell')", "cells")
	w.do(chromedp.Evaluate[chromedp.Void]("document.querySelector('.grid').scrollTop = 5000"))
	w.until("document.querySelector('.grow-row[aria-rowindex=\"170\"] .cell')", "what was scrolled to")
	require.Less(t, eval[int](w, "document.querySelectorAll('*').length"), 6000)
}
