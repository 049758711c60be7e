//go:build race

package simulation

// raced: the race detector has goroutines run in an order by chance, and looks at every pointer.
const raced = true
