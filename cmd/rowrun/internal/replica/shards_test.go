package replica

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/cmd/rowrun/internal/rowruntest"
	"github.com/rowrun/rowrun/store/storetest"
)

// A shard whose database has no schema is tried again, and says why; the other one works. A stop ends all of it.
func TestShardThatIsRefusedHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	good, empty := storetest.New(t), storetest.Empty(t)
	conn := rowruntest.Connect(t, good)
	rowruntest.Change(t, conn, `INSERT INTO rowrun.task (type) VALUES ('NOOP')`)
	rowruntest.Change(t, conn, `INSERT INTO rowrun.task_run (task_id) SELECT id FROM rowrun.task, generate_series(1, 50)`)
	c, err := parse(nil, "--shard", "good="+good, "--shard", "empty="+empty, "--http-addr", "127.0.0.1:0", "--concurrency", "3")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var out bytes.Buffer
	said := make(chan string, 1000)
	ended := make(chan error, 1)
	go func() { ended <- Serve(ctx, &c, &out, zerolog.New(storetest.Lines(said))) }()
	for line := range said {
		if bytes.Contains([]byte(line), []byte("shard can't be served; trying again")) {
			require.Contains(t, line, `"shard":"empty"`)
			require.Contains(t, line, "rowrun migrate up")
			break
		}
	}
	rowruntest.Eventually(t, "the other's runs", func() bool {
		var left bool
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM rowrun.task_run WHERE status <> 'DONE')`).Scan(&left))
		return !left
	})
	stop()
	require.NoError(t, <-ended)
	require.Contains(t, out.String(), `"shard":"good"`)
}

// What a person has to mend in the flags ends the process, whichever shard finds it.
func TestAddressThatIsTakenEndsTheProcess(t *testing.T) {
	t.Parallel()
	c, err := parse(nil, "--shard", "a="+rowruntest.SomeURL, "--http-addr", "192.0.2.1:1")
	require.NoError(t, err)
	err = Serve(t.Context(), &c, new(bytes.Buffer), zerolog.Nop())
	require.ErrorContains(t, err, "--http-addr: listen for HTTP")
	require.False(t, errors.Is(err, context.Canceled))
}
