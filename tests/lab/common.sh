# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# shellcheck disable=SC2034,SC2015,SC2086 # used by those that source it; die does not come back; numbers need no quotes
# Shared by the lab scripts; source it, do not run it.
#
# Everything the lab makes lives under $LAB_DIR:
#   apt/     private apt state (the host's own is never touched)
#   root/    unpacked packages: QEMU and the guest's tools, with their libraries
#   kernel/  vmlinuz and the unpacked modules of one stock kernel
#   initrd   the guest's root file system
#   pyverbs/ Python with the verbs binding of rdma-core and its test suite, for guests that get it as /host
#   run/     one folder per running (or last run) guest
set -u

lab_src=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

say() { printf 'lab: %s\n' "$*" >&2; }
die() { # die STATUS MESSAGE...
    local rc=$1
    shift
    printf 'lab: error: %s\n' "$*" >&2
    exit "$rc"
}

# Exit statuses of the lab itself; 0..123 belong to what ran in the guest.
LAB_TIMEOUT=124 # the guest was still busy when the time was up
LAB_BROKEN=125  # the lab could not run it at all (setup, QEMU, guest crash)

[ -n "${LAB_DIR:-}" ] || die $LAB_BROKEN "LAB_DIR is not set: name a folder (2 GB free) for the lab"
mkdir -p "$LAB_DIR" || die $LAB_BROKEN "cannot make $LAB_DIR"
LAB_DIR=$(cd "$LAB_DIR" && pwd)
case $LAB_DIR in *[!A-Za-z0-9_./+-]*) die $LAB_BROKEN "LAB_DIR may hold only letters, digits and _./+-: $LAB_DIR" ;; esac

need() { # need COMMAND PACKAGE
    command -v "$1" >/dev/null 2>&1 || die $LAB_BROKEN "'$1' is missing: install the Debian package $2"
}

# Runs a program of root/ with the loader and libraries of root/, so that the
# host's libc (older or newer) is neither used nor changed.
in_root() { # in_root PROGRAM ARGUMENT...
    local prog=$1 lib=$LAB_DIR/root/usr/lib/x86_64-linux-gnu
    shift
    QEMU_MODULE_DIR=$lib/qemu "$lib/ld-linux-x86-64.so.2" --library-path "$lib" "$LAB_DIR/root/usr/bin/$prog" "$@"
}

lab_ready() {
    [ -s "$LAB_DIR/initrd" ] && [ -e "$LAB_DIR/kernel/vmlinuz" ] || die $LAB_BROKEN "no lab in $LAB_DIR: run setup.sh first"
}
