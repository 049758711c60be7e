package commands

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// A place that comes without a line is where a reader goes on that has got none.
func TestAReaderOfAReplicaGoesOnWhereItStoodBeforeTheFirstLine(t *testing.T) {
	t.Parallel()
	asked, n := make(chan string, 100), atomic.Int64{}
	replica := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		select {
		case asked <- req.Header.Get("Last-Event-ID"):
		default:
		}
		if n.Add(1) == 1 {
			_, _ = fmt.Fprint(w, ": stream of rowrun\n\nid: place-7\n\n") // and the connection breaks
			return
		}
		_, _ = fmt.Fprint(w, "id: place-7\n\ndata: {\"run_id\":8}\n\n: still here\nid: place-9\n\n")
	}))
	t.Cleanup(replica.Close)
	reader, writer := io.Pipe()
	start(t, "", writer, "stream", "--replica", replica.URL)
	line, err := bufio.NewReader(reader).ReadString('\n')
	require.NoError(t, err)
	require.JSONEq(t, `{"run_id":8}`, line)
	require.Empty(t, <-asked)
	require.Equal(t, "place-7", <-asked)
	require.Equal(t, "place-9", <-asked)
	require.NoError(t, reader.Close())
}
