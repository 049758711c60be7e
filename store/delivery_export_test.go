package store

// What the EXPLAIN test asks.
const (
	ClaimDeliveriesSQL = claimDeliveries
	NextDeliverySQL    = nextDelivery
)
