package store

// StatusCounts is for a look at its plan.
const StatusCounts = statusCounts
