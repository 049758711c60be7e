// Package database says which database is Rowrun's own, from flags and the environment, and puts what it answered into
// words for a command. The way there is store/connect.
package database
