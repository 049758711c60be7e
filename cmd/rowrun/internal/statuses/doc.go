// Package statuses says how statuses look: their order, name, icon and colour, in one table for terminals and for pages.
//
// A status is never told by its colour alone: its name or its icon stands with it. Each icon is one cell wide in every
// terminal, also in those that show doubtful characters in two.
package statuses
