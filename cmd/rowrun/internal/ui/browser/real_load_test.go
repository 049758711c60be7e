package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// busy makes a plan whose tasks are run again and again until the test ends; its id.
func (d *deployment) busy(t *testing.T) string {
	t.Helper()
	plan := ask[string](t, d, `SELECT rowrun.create_plan('busy', (SELECT jsonb_agg(jsonb_build_object('name', 'task ' || n, 'type', 'NOOP')) FROM generate_series(1, 200) n), project => 'busy')::text`)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	conn, err := d.connect(ctx)
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() {
		for ctx.Err() == nil {
			_, err := conn.Exec(ctx, `SELECT count(*) FROM rowrun.run_tasks(ARRAY(SELECT task_id FROM rowrun.task_status WHERE plan_id = $1::bigint AND status IN ('NOT_STARTED', 'DONE')))`, plan)
			if err != nil && ctx.Err() == nil {
				ended <- err
				return
			}
			select {
			case <-ctx.Done():
			case <-time.After(pollEvery):
			}
		}
		ended <- nil
	}()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-ended)
		_ = conn.Close(context.WithoutCancel(ctx))
	})
	return plan
}

// However much happens, an open page asks at most twice a second.
func TestAnOpenPageAsksAtMostTwiceASecond(t *testing.T) {
	d := deployed(t)
	plan := d.busy(t)
	w := d.open(t)
	for name, path := range map[string]string{
		"rollout": "plans/" + plan, "rollouts": "plans", "overview": "", "runs": "runs", "schedules": "schedules", "replicas": "replicas",
		"task": "tasks/" + ask[string](t, d, `SELECT min(id)::text FROM rowrun.task WHERE plan_id = `+plan),
	} {
		w.visit(path)
		w.until("document.querySelector('.live')", "live")
		asked := eval[int](w, `new Promise((done) => {
			performance.clearResourceTimings()
			setTimeout(() => done(performance.getEntriesByType('resource').filter((one) => one.name.includes('/api/')).length), 10000)
		})`)
		t.Logf("%s: %.1f a second", name, float64(asked)/10)
		require.LessOrEqual(t, asked, 20, name)
	}
	w.quiet()
}

// Two hundred open pages of a rollout that goes on take a replica that runs nothing at most one core.
func TestTwoHundredOpenPagesTakeAtMostOneCore(t *testing.T) {
	const pages, span = 200, 15 * time.Second
	d := deployed(t)
	plan := d.busy(t)
	addr, err := freeAddr()
	require.NoError(t, err)
	replica := d.serve(t, "--replica-name", "pages", "--types", "NOOP", "--queues", "none", "--http-addr", addr)
	base := "http://" + addr + "/"
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: pages}}
	t.Cleanup(client.CloseIdleConnections)
	require.Eventually(t, func() bool {
		response, err := client.Get(base + "readyz") //nolint:noctx // a moment
		if err != nil {
			return false
		}
		_ = response.Body.Close()
		return response.StatusCode == http.StatusOK
	}, patience, pollEvery, "it is ready")

	ctx, stop := context.WithCancel(t.Context())
	var lines, answers, refused atomic.Int64
	var open sync.WaitGroup
	for range pages {
		open.Go(func() { follow(ctx, client, base+"events?plan="+plan, &lines) })
		open.Go(func() { look(ctx, client, base+"api/v1/plans/"+plan, 4*time.Second, &answers, &refused) })
		open.Go(func() {
			look(ctx, client, base+"api/v1/plans/"+plan+"/grid", 2500*time.Millisecond, &answers, &refused)
		})
	}
	require.Eventually(t, func() bool { return lines.Load() > pages && answers.Load() > pages }, patience, pollEvery, "all of them are open")
	before, told, said := cpu(t, replica.Process.Pid), lines.Load(), answers.Load()
	begun := time.Now()
	<-time.After(span)
	took := time.Since(begun)
	used := cpu(t, replica.Process.Pid) - before
	told, said = lines.Load()-told, answers.Load()-said
	stop()
	open.Wait()
	t.Logf("%.2f cores: %.0f transitions and %.1f answers a second to %d pages", used.Seconds()/took.Seconds(),
		float64(told)/pages/took.Seconds(), float64(said)/took.Seconds(), pages)
	require.LessOrEqual(t, refused.Load()*50, answers.Load(), "refused")
	// As many transitions happen as the machine is good for: a core is for 500 of them a second.
	rate := float64(told) / pages / took.Seconds()
	require.LessOrEqual(t, used.Seconds(), took.Seconds()*max(1, rate/500))
}

// follow reads a stream as a page does.
func follow(ctx context.Context, client *http.Client, address string, lines *atomic.Int64) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return
	}
	response, err := client.Do(r)
	if err != nil {
		return
	}
	defer func() { _ = response.Body.Close() }()
	for scan := bufio.NewScanner(response.Body); scan.Scan(); {
		if strings.HasPrefix(scan.Text(), "data:") {
			lines.Add(1)
		}
	}
}

// look asks as often as the page of a rollout does at most; of a grid for what has changed.
func look(ctx context.Context, client *http.Client, address string, every time.Duration, answers, refused *atomic.Int64) {
	token := ""
	wait := time.Duration(rand.Int64N(int64(every))) //nolint:gosec // pages are opened at any moment
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		wait = every
		to := address
		if token != "" {
			to += "?since=" + token
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, to, http.NoBody)
		if err != nil {
			return
		}
		response, err := client.Do(r)
		if err != nil {
			continue // ctx has ended
		}
		text, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil {
			continue
		}
		if response.StatusCode != http.StatusOK {
			refused.Add(1)
			continue
		}
		answers.Add(1)
		var grid struct {
			Token string `json:"token"`
		}
		if strings.HasSuffix(address, "/grid") && json.Unmarshal(text, &grid) == nil {
			token = grid.Token
		}
	}
}

// cpu is what a process has used.
func cpu(t *testing.T, pid int) time.Duration {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(t, err)
	fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
	var ticks int64
	for _, field := range fields[11:13] { // utime and stime, in hundredths of a second
		n, err := strconv.ParseInt(field, 10, 64)
		require.NoError(t, err)
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
