package api_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

// as serves a dashboard with a role that is a member of these and of nothing else.
func as(t *testing.T, admin string, roles ...string) *board {
	t.Helper()
	role := fmt.Sprintf("board_%d", time.Now().UnixNano())
	conn := rowruntest.Connect(t, admin)
	change(t, conn, `CREATE ROLE `+role+` LOGIN IN ROLE `+strings.Join(roles, ", "))
	t.Cleanup(func() { // when its sessions are closed
		ctx := context.WithoutCancel(t.Context())
		conn, err := pgx.Connect(ctx, admin)
		require.NoError(t, err)
		_, err = conn.Exec(ctx, `DROP ROLE `+role)
		require.NoError(t, errors.Join(err, conn.Close(ctx)))
	})
	u, err := url.Parse(admin)
	require.NoError(t, err)
	u.User = url.User(role)
	b := serve(t, u.String(), nil)
	b.conn = conn
	return b
}

// A process does what its role may do: what it may not is refused in words, and not offered.
func TestWhatARoleMayNotDoIsNotOffered(t *testing.T) {
	t.Parallel()
	admin := storetest.New(t)
	plan := ""
	for role, acts := range map[string]bool{
		"rowrun_viewer": false, "rowrun_client": false, "rowrun_author": false, "rowrun_replica": false,
		"rowrun_operator": true, "rowrun_replica, rowrun_operator": true, "rowrun_viewer, rowrun_operator": true,
	} {
		t.Run(role, func(t *testing.T) {
			b := as(t, admin, strings.Split(role, ", ")...)
			if plan == "" {
				plan = fmt.Sprint(b.rollout())
			}
			for _, path := range []string{"overview", "plans", "plans/" + plan, "plans/" + plan + "/grid", "runs", "runs/1", "tasks", "tasks/1", "types", "schedules", "webhooks", "deliveries", "replicas", "doctor", "acts"} {
				s := b.ask(http.MethodGet, "/api/v1/"+path, "", "Authorization", asAlice)
				require.Equal(t, http.StatusOK, s.Status, path+" "+s.Body)
			}
			session := b.ask(http.MethodGet, "/api/v1/session", "", "Authorization", asAlice).value()
			require.Equal(t, acts, at(t, session, "acts"))
			require.Equal(t, acts, at(t, session, "may", "operator"))
			run := b.ask(http.MethodGet, "/api/v1/tasks/"+query[string](t, b.conn, `SELECT id::text FROM rowrun.task WHERE name = 'stock 1.10'`), "", "Authorization", asAlice).value()
			require.Equal(t, acts, at(t, run, "may", "pause"))
			s := b.act(body("limit", `{"kind": "plan", "ids": ["`+plan+`"]}`, fmt.Sprintf(`{"limit": %d}`, 2+len(role))))
			if acts {
				require.Equal(t, http.StatusOK, s.Status, s.Body)
				require.Equal(t, "1", at(t, s.value(), "done"), s.Body)
				task := query[string](t, b.conn, `SELECT id::text FROM rowrun.task WHERE name = 'orders 1.9'`)
				for _, verb := range []string{"retry", "cancel", "skip", "unskip", "pause", "resume"} {
					s := b.act(body(verb, `{"kind": "task", "ids": ["`+task+`"]}`, ""))
					require.Equal(t, "1", at(t, s.value(), "done"), verb+" "+s.Body)
				}
				return
			}
			require.Equal(t, http.StatusForbidden, s.Status, s.Body)
			require.Contains(t, s.Body, "GRANT rowrun_operator")
		})
	}
}
