// Package api answers /api/v1, what the dashboard's pages ask, and serves these pages.
//
// Its handlers read words from a request, ask store, and write JSON; openapi.json says what. What it promises:
//
//   - Nothing that is asked scans a table: lists are pages of at most 200 rows that lead to the next by a key, and look at a
//     bounded number of rows; counts end somewhere, and say so.
//   - What many pages ask at the same moment is read once: an overview for a second, a plan's grid for a second.
//   - An act has a request id, and is done once however often it is sent. It is a row (store.BeginAct) before anything is done,
//     is done in steps, each a transaction that also says how far the act is, and is gone on with by any process with operators when
//     the one that began it is gone. Crash after the row: it is gone on with; within a step: nothing of the step was done.
//   - Who may not act is refused before a body is read. Changes are refused across origins, pages in frames.
package api
