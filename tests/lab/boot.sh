#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck source=tests/lab/common.sh
# shellcheck disable=SC2086,SC2015,SC2054,SC1007,SC2002,SC2046,SC2012 # lists and numbers split on purpose; die does not come back
# Boots one guest with a vfio-user device, runs the commands on standard input
# in it, ends it, and exits as the commands did.
#
#   boot.sh [-t SECONDS] [START OPTION]... SOCKET [QEMU ARGUMENT]... <COMMANDS
#
# SOCKET is that of the vfio-user server, or "-" for no device. -t bounds the
# commands (300); the other options are those of "guest.sh start". LAB_KEEP=1
# leaves the guest running afterwards. Status 124: too late; 125: the lab failed.
set -o pipefail
. "$(dirname "$0")/common.sh"

secs=300
opts=()
while getopts t:d:n:s:m:c:a:ik:w:b o; do
    case $o in
    t) secs=$OPTARG ;;
    '?') die $LAB_BROKEN "see the head of $0" ;;
    i | b) opts+=("-$o") ;;
    *) opts+=("-$o" "$OPTARG") ;;
    esac
done
shift $((OPTIND - 1))
[ $# -ge 1 ] || die $LAB_BROKEN "which socket? ('-' for no device)"
[ "$1" = - ] || opts+=(-d "$1")
shift
[ "${1:-}" = -- ] && shift

name=${LAB_NAME:-boot$$}
[ -n "${LAB_KEEP:-}" ] || trap '"$lab_src/guest.sh" stop "$name"' EXIT
trap 'exit 130' INT TERM
"$lab_src/guest.sh" start "$name" ${opts[@]+"${opts[@]}"} -- "$@" || exit
"$lab_src/guest.sh" exec "$name" -t "$secs"
