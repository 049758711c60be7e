package notifier

import (
	"math/rand/v2"
	"time"

	"github.com/rowrun/rowrun/store"
)

// maxRetryAfter is how far a receiver can put a message off.
const maxRetryAfter = 24 * time.Hour

// schedule gives the pause after each failed try; after the one that follows the last pause there is none.
// It is the one that Standard Webhooks gives as an example.
func schedule() [9]time.Duration {
	return [...]time.Duration{
		5 * time.Second, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour, 5 * time.Hour,
		10 * time.Hour, 14 * time.Hour, 20 * time.Hour, 24 * time.Hour,
	}
}

// judge says what follows an answer to the given try; the first is 1, and what a row may say below that counts as it.
func judge(attempt int, answer Answer) store.Try {
	try := store.Try{Status: "DELIVERED", Code: answer.Code, Problem: answer.Problem}
	if answer.Problem == "" {
		return try
	}
	pauses := schedule()
	if attempt > len(pauses) {
		try.Status = "EXHAUSTED"
		return try
	}
	try.Status = "PENDING"
	// A tenth more or less keeps apart what failed together.
	try.RetryIn = jitter(pauses[max(attempt-1, 0)], 0.9, 1.1)
	// Never before the receiver wants it, and not sooner than without its wish: one that asks for a second each time
	// would have used all tries up within ten.
	if asked := min(answer.RetryAfter, maxRetryAfter); asked > 0 {
		try.RetryIn = max(try.RetryIn, jitter(asked, 1, 1.02))
	}
	return try
}

func jitter(d time.Duration, least, most float64) time.Duration {
	return time.Duration(float64(d) * (least + (most-least)*rand.Float64())) //nolint:gosec // not a secret
}
