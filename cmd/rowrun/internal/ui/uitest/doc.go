// Package uitest is the dashboard's API without a database: answers of the right shape, made up, for whoever works on the
// pages and for their tests in a browser. What it says is the same at each start but for the time; acts change it.
package uitest
