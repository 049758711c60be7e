// Package dev is `rowrun dev`: a private PostgreSQL, a replica on it, and with --sample a plan to look at, with an app
// that it calls and that receives its webhooks. All of it ends with its context; the data stays.
package dev
