package egress_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowrun/rowrun/notifier/egress"
)

func TestRetryAfterIsSecondsOrADate(t *testing.T) {
	t.Parallel()
	const most = 24 * time.Hour
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"": 0, " ": 0, "0": 0, "000": 0, "7": 7 * time.Second, " 120 ": 2 * time.Minute, "86399": most - time.Second, "86400": most, "86401": most,
		"2147483647": most, "2147483648": most, "9999999999": most, "9223372036854775808": most, "99999999999999999999": most,
		"Sat, 21 Nov 2026 09:05:00 GMT": 5 * time.Minute, "Saturday, 21-Nov-26 09:05:00 GMT": 5 * time.Minute, "Sat, 21 Nov 2026 08:00:00 GMT": 0,
		"Fri, 31 Dec 2999 00:00:00 GMT": most, "Fri, 31 Dec 9999 23:59:59 GMT": most,
		"-5": 0, "+5": 0, "soon": 0, "1.5": 0, "1h": 0, "1 2": 0,
	} {
		require.Equal(t, want, egress.RetryAfter(header, now, most), "%q", header)
	}
}
