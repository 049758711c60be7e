package egress

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// RetryAfter reads a header Retry-After: seconds, however many, or a moment. It is no more than most. 0: it says nothing.
func RetryAfter(header string, now time.Time, most time.Duration) time.Duration {
	header = strings.TrimSpace(header)
	if header != "" && strings.Trim(header, "0123456789") == "" {
		seconds, err := strconv.ParseInt(header, 10, 32)
		if err != nil {
			return most // more than 68 years
		}
		return min(time.Duration(seconds)*time.Second, most)
	}
	at, err := http.ParseTime(header)
	if err != nil {
		return 0
	}
	return min(max(at.Sub(now), 0), most)
}
