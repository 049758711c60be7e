// Package auth says who a request is from, and whether it may see or change what the HTTP server tells of runs.
//
//   - A bearer token or a session cookie says who asks. --http-token reads; an operator's token, of a name, also acts.
//   - Where no token for reading is set, requests from loopback to a loopback name may read: a page that was made to ask
//     under a name of its own (DNS rebinding) may not.
//   - A session is a signed cookie and nothing else: every replica that has the token takes it, none that lost the token
//     does. Its key is made from the token, so that it dies with it.
//   - A session begins with a token and never with a cookie that the browser brought: there is nothing to fix beforehand.
package auth
