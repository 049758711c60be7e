// Package systemd tells the service manager that started this process how it is (sd_notify), for a unit of Type=notify.
//
// It promises:
//   - READY=1 comes once, when the replica first takes work; until then STATUS says what it waits for.
//   - WATCHDOG=1 comes at a third of the manager's limit, and only after this process was found alive. A process that
//     lives and can't reach its database is alive: restarting it would mend nothing.
//   - STOPPING=1 comes when the drain begins. STATUS goes on telling until the drain is over.
//   - Where no manager listens, nothing happens: New returns nil, and a nil Manager takes every call.
//
// What can't be sent is logged once and otherwise without effect: the manager then judges by its own limits.
package systemd
