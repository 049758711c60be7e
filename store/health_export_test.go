package store

// MaxWaitingCount is where counting the runs that wait ends.
const MaxWaitingCount = maxWaitingCount

// ErrSlotTimeout means that a slot could not be made in time.
var ErrSlotTimeout = errSlotTimeout

// DeliveryReasons are what PENDING deliveries can wait for.
func DeliveryReasons() []string { return deliveryReasons() }
