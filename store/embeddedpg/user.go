package embeddedpg

import (
	"os"
	osuser "os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// user is who runs the server.
type user struct {
	name     string
	uid, gid int
	dropped  bool // another user than the one of this process
}

// processUser is the user of this process, or, as PostgreSQL refuses root,
// postgres where it exists and nobody where it doesn't.
func processUser() user {
	if os.Geteuid() != 0 {
		return user{name: "uid " + strconv.Itoa(os.Geteuid()), uid: os.Geteuid(), gid: os.Getegid()}
	}
	for _, name := range []string{"postgres", "nobody"} {
		found, err := osuser.Lookup(name)
		if err != nil {
			continue
		}
		uid, uidErr := strconv.Atoi(found.Uid)
		gid, gidErr := strconv.Atoi(found.Gid)
		if uidErr == nil && gidErr == nil {
			return user{name: name, uid: uid, gid: gid, dropped: true}
		}
	}
	return user{name: "nobody", uid: 65534, gid: 65534, dropped: true}
}

// credential is what a child process needs to run as u; nil: nothing.
func (u user) credential() *syscall.Credential {
	if !u.dropped {
		return nil
	}
	return &syscall.Credential{Uid: uint32(u.uid), Gid: uint32(u.gid)} //nolint:gosec // ids are not negative
}

// own hands what this process made over to u.
func (u user) own(path string) error {
	if !u.dropped {
		return nil
	}
	return os.Chown(path, u.uid, u.gid)
}

// may says whether u has the permission bit (1 execute or enter, 2 write, 4 read).
func (u user) may(info os.FileInfo, bit os.FileMode) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	switch {
	case int(stat.Uid) == u.uid:
		bit <<= 6
	case int(stat.Gid) == u.gid:
		bit <<= 3
	}
	return info.Mode().Perm()&bit != 0
}

// reaches says whether u can enter every directory on the way to path; what
// doesn't exist yet counts as reachable.
func (u user) reaches(path string) bool {
	for {
		real, err := filepath.EvalSymlinks(path)
		if err == nil {
			path = real
			break
		}
		if filepath.Dir(path) == path {
			return false
		}
		path = filepath.Dir(path)
	}
	for {
		info, err := os.Stat(path)
		if err != nil || (info.IsDir() && !u.may(info, 1)) {
			return false
		}
		if filepath.Dir(path) == path {
			return true
		}
		path = filepath.Dir(path)
	}
}
