# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Other people's programs of verbs on the host, on a port that a triplane shares. Sourced after lib.sh.
: "${lab_cpus:?}"
owner_space=() # the command that the owner and its programs are started by
owner_run=()   # what a program's name and arguments go behind
owner_pid=
owner_in=

# owner_start DEVICE EAL-ARGUMENT...: shares its ports; standard input has what makes RoCE of them. Comes back once the device is
# active.
owner_start() {
	local device=$1 i
	shift
	owner_run=("${owner_space[@]}" "$TP_BUILD/apps/triplane-run/triplane-run" --quiet --view off --attach "$lab_tmp/share")
	rm -f "$lab_tmp/owner.in"
	mkfifo "$lab_tmp/owner.in" || return
	"${owner_space[@]}" "$TP_BUILD/apps/triplane" --lcores "0@$lab_cpus,1@$lab_cpus" --no-huge -m 256 --no-pci --no-shconf --no-telemetry \
		--file-prefix="owner$$" --log-level=lib.eal:error "$@" -- --rxq 2 <"$lab_tmp/owner.in" >"$lab_tmp/owner.out" 2>&1 &
	owner_pid=$!
	exec {owner_in}>"$lab_tmp/owner.in"
	{
		printf 'set fwd rxonly\nset setting program idle-sleep 200\n'
		cat
		printf 'start\nshare on %s\n' "$lab_tmp/share"
	} >&"$owner_in"
	for ((i = 0; i < 600; i++)); do
		if [ -S "$lab_tmp/share" ] && "${owner_run[@]}" ibv_devinfo -d "$device" 2>/dev/null | grep -q PORT_ACTIVE; then return 0; fi
		kill -0 "$owner_pid" 2>/dev/null || return 1
		sleep 0.1
	done
	return 1
}

owner_kill() { [ -z "$owner_pid" ] || kill "$owner_pid" 2>/dev/null; }

# Ends it: in order, and with no word of a rule that a program broke.
owner_verdict() { # TEST
	local rc
	printf 'quit\n' >&"$owner_in"
	exec {owner_in}>&-
	wait "$owner_pid"
	rc=$?
	owner_pid=
	if [ $rc = 0 ] && ! grep -q 'model: ' "$lab_tmp/owner.out"; then
		pass "$1-owner"
	else
		fail "$1-owner" "status $rc: $(tail -n 3 "$lab_tmp/owner.out" | tr '\n' ';')"
	fi
}
