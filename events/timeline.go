package events

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pglogrepl"
	"github.com/jackc/pgx/v5/pgconn"
)

// promoted is why a timeline ended whose server was lost and a standby promoted, in a history file (PostgreSQL writes it in English).
const promoted = "no recovery target specified"

// forks reads from the server's history file where the timelines before its present one ended. nil where that isn't known.
func forks(ctx context.Context, conn *pgconn.PgConn, timeline int32) map[int]LSN {
	if timeline <= 1 {
		return nil
	}
	history, err := pglogrepl.TimelineHistory(ctx, conn, timeline)
	if err != nil {
		return nil // somebody may have removed the file
	}
	return parseForks(string(history.Content))
}

// parseForks reads lines of "timeline, place, reason", the oldest timeline first. One from which a server was brought to a point in time of its past
// is left out, as are those before it: the log goes on from that point, and not from where it was written to.
func parseForks(history string) map[int]LSN {
	ends := map[int]LSN{}
	for _, line := range slices.Backward(strings.Split(history, "\n")) {
		if strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#") {
			continue
		}
		fields := strings.SplitN(line, "\t", 3)
		if len(fields) < 3 || strings.TrimSpace(fields[2]) != promoted {
			return ends
		}
		timeline, err := strconv.Atoi(strings.TrimSpace(fields[0]))
		if err != nil {
			return ends
		}
		end, err := ParseLSN(strings.TrimSpace(fields[1]))
		if err != nil {
			return ends
		}
		ends[timeline] = end
	}
	return ends
}
