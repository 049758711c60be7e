package store

// ClaimDeliveriesSQL is what the EXPLAIN test asks.
const ClaimDeliveriesSQL = claimDeliveries
