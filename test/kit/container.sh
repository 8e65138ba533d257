#!/usr/bin/env bash
# Runs a command in what an image holds: container.sh ROOT VOLUME USER GROUP COMMAND…
# As `docker run --read-only --volume VOLUME:/data` does, and with the network of this machine.
set -euo pipefail
root=$1 volume=$2 user=$3 group=$4
shift 4
mount --bind "$root" "$root"
mount --bind "$volume" "$root/data"
mount --options remount,bind,ro "$root"
mount --types proc proc "$root/proc"
mount --rbind /dev "$root/dev"
# A change of user forgets with whom the process is to die, so that is said again.
exec chroot "$root" setpriv --reuid="$user" --regid="$group" --clear-groups --no-new-privs --pdeathsig=KILL "$@"
