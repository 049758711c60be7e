#!/bin/sh
# Stops the service before its program goes, but not for an upgrade.
set -e
case ${1:-} in
remove | 0) ;;
*) exit 0 ;;
esac
if [ -z "${DPKG_ROOT:-}" ] && [ -d /run/systemd/system ]; then
	systemctl disable --now rowrun.service
fi
