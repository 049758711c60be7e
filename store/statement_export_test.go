package store

// Statement is for tests that look at plans.
func Statement(name string) string { return statement(name) }
