package api_test

import "time"

// How long a test waits for what must come, and how often it looks.
const (
	testPatience = 30 * time.Second
	testLook     = 50 * time.Millisecond
)
