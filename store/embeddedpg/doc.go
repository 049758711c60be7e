// Package embeddedpg runs a private PostgreSQL from binaries that are installed
// on this machine, for `rowrun dev` and for tests. It downloads nothing.
//
// What it promises:
//
//   - A cluster is private: the unix socket lies in a directory that only the
//     server's user and root can enter, and TCP listens on 127.0.0.1 with a
//     random password (an ephemeral cluster trusts loopback).
//   - Data stays. A cluster is removed only where it is ephemeral and was made by
//     that very Start. A directory of another major version is refused as it is.
//   - No server outlives its parent: on Linux the kernel stops it when the parent
//     is killed. A cluster whose directory is in use is refused, with the holder's pid.
//   - Started by root, only the server gets another user (postgres, else nobody).
//     Where that user can't reach the directory asked for, the cluster lies in
//     /var/lib/rowrun-dev; [Cluster.Dir] says where.
//
// States: a started Cluster runs until Stop, Halt, Kill or its own death ([Cluster.Done]);
// after Halt, Kill or death Restart brings it back with its data on the same port.
// After Stop it is over.
package embeddedpg
