package store

// MaxWaitingCount is where counting the runs that wait ends.
const MaxWaitingCount = maxWaitingCount

// DeliveryReasons are what PENDING deliveries can wait for.
func DeliveryReasons() []string { return deliveryReasons() }
