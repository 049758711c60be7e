package egress

// PublicOnly lets tests ask about addresses that must not be called.
var PublicOnly = publicOnly //nolint:gochecknoglobals // for tests
