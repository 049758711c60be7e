#!/bin/sh
# Makes the user of the service. Nothing is started: the database's URL is missing.
set -e
root=${DPKG_ROOT:-}
if command -v systemd-sysusers >/dev/null 2>&1; then
	systemd-sysusers ${root:+--root="$root"} rowrun.conf
elif [ -z "$root" ] && ! getent passwd rowrun >/dev/null; then
	useradd --system --user-group --home-dir /var/lib/rowrun --no-create-home --shell /usr/sbin/nologin rowrun
fi
if [ -z "$root" ] && [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	# An upgrade: who ran goes on with the new program, after its drain. Nobody waits for that: it is ready only once its
	# database is there and has the schema of this version, which may come after the package.
	systemctl --no-block try-restart rowrun.service || echo "rowrun: not restarted; see systemctl status rowrun" >&2
fi
