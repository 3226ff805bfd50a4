#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# shellcheck source=tests/lab/common.sh
# shellcheck disable=SC2086,SC2015,SC2054,SC1007,SC2002,SC2046,SC2012 # lists and numbers split on purpose; die does not come back
# Runs lab guests (setup.sh first).
#
#   guest.sh start NAME [OPTION]... [-- QEMU ARGUMENT...]
#       -d SOCKET     attach the vfio-user device served at this UNIX socket;
#                     may be given again
#       -n NETDEV     a virtio-net card on this QEMU netdev, without its id,
#                     e.g. 'dgram,local.type=unix,local.path=a,remote.type=unix,remote.path=b'
#       -s DIR        the host folder DIR appears as /host in the guest
#       -m MIB        memory (1024)
#       -c CPUS       (1)
#       -a ACCEL      QEMU accelerator (tcg)
#       -i            an IOMMU (Intel's), so that vfio-pci works in the guest
#       -k ARGS       extra kernel arguments
#       -w SECONDS    how long the boot may take (300)
#       -b            boots, where the usual guest goes on from its frozen state
#   guest.sh freeze NAME
#       makes that state, if there is none
#   guest.sh exec NAME [-t SECONDS] [COMMAND...]
#       runs COMMAND, or the script on standard input, in the guest's shell as
#       root; prints what it printed (stdout and stderr), exits as it exited
#   guest.sh stop NAME
#   guest.sh show NAME       where its logs are, and the console's last lines
#
# A boot takes longer than many a test. So the usual guest, of one CPU, 1024 MiB and no kernel arguments, is booted once
# without devices, and its state is kept in frozen/. It goes on from there as often as one is started: it finds its devices by a
# scan of the bus, is told the time, and its random numbers are seeded anew (vmgenid). Another lab, or a change of this file,
# needs another state.
#
# Besides the guest's own: status 124, the time was up; 125, the lab failed
# (no such guest, QEMU ended, kernel panic, ...), with the reason on stderr.
set -o pipefail
. "$(dirname "$0")/common.sh"

usage() {
    sed -n '2,/^set /p' "$0" | sed -n 's/^# \{0,1\}//p' >&2
    exit $LAB_BROKEN
}

[ $# -ge 2 ] || usage
verb=$1
name=$2
shift 2
case $name in '' | *[!A-Za-z0-9_-]*) die $LAB_BROKEN "a guest's name may hold only letters, digits, _ and -" ;; esac
run=$LAB_DIR/run/$name
root=$LAB_DIR/root/usr

# The guest's QEMU, if it still runs. A process id alone could be anyone's.
guest_pid() {
    local pid
    pid=$(cat "$run/pid" 2>/dev/null)
    [ -n "$pid" ] && cat "/proc/$pid/cmdline" 2>/dev/null | tr '\0' '\n' | grep -qF "path=$run/port" || return 1
    echo "$pid"
}

show_end() {
    if [ -s "$run/qemu.log" ]; then
        say "QEMU said:"
        tail -n 20 "$run/qemu.log" >&2
    fi
    say "last of the console ($run/console.log):"
    tail -n "${1:-30}" "$run/console.log" 2>/dev/null | tr -d '\r' >&2
}

# await SECONDS ID: waits for the guest's word that ID has ended; sets rc.
# Returns 1 when the time is up, 2 when QEMU has ended.
await() {
    local limit=$((SECONDS + $1)) id=$2 line='' part word got
    while :; do
        # read -t may hand over less than a line
        if IFS= read -r -t 1 part <&"$from"; then
            read -r word got rc <<<"$line$part"
            line=
            # anything else is a late word on an earlier call
            [ "$word" = LAB ] && [ "$got" = "$id" ] && [[ $rc =~ ^[0-9]+$ ]] && return 0
        else
            line=$line$part
            guest_pid >/dev/null || return 2
            [ $SECONDS -lt $limit ] || return 1
        fi
    done
}

# printed SINCE [MARK]: what the guest printed from byte SINCE of out.log up to
# MARK, which travels after it and so may arrive a moment later than the status.
printed() {
    local at i
    if [ -n "${2:-}" ]; then
        for ((i = 0; i < 150; i++)); do
            at=$(tail -c +$(($1 + 1)) "$run/out.log" | LC_ALL=C grep -abo -m 1 -F -e "$2" | cut -d: -f1)
            if [ -n "$at" ]; then
                tail -c +$(($1 + 1)) "$run/out.log" | head -c "$at"
                return 0
            fi
            sleep 0.2
        done
        say "warning: the end of the output is missing"
    fi
    tail -c +$(($1 + 1)) "$run/out.log"
}

open_port() {
    # read and write, since opening a FIFO one way waits for the other end
    exec {to}<>"$run/port.in" {from}<>"$run/port.out" || die $LAB_BROKEN "cannot open the guest's port"
}

# Runs QEMU, which goes on when this script ends; what it is told by FILE, if any, and what it says goes to qemu.log.
qemu() { # FILE ARGUMENT...
    local in=$1
    shift
    (
        trap '' HUP
        exec setsid "$LAB_DIR/root/usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2" \
            --library-path "$root/lib/x86_64-linux-gnu" "$root/bin/qemu-system-x86_64" "$@" <"$in" >"$run/qemu.log" 2>&1
    ) &
    echo $! >"$run/pid"
    disown
}

fresh_run() {
    rm -rf "$run"
    mkdir -p "$run" && mkfifo "$run/port.in" "$run/port.out" || die $LAB_BROKEN "cannot make $run"
    : >"$run/console.log"
    : >"$run/out.log"
}

# The machine without devices that a test asks for: sets args.
machine() { # MIB CPUS ACCEL KERNEL-ARGUMENTS
    args=(-nodefaults -no-user-config -no-reboot -display none
        -L "$root/share/qemu" -L "$root/share/seabios" -L "$root/lib/ipxe/qemu"
        -name "$name" -accel "$3" -smp "$2"
        # memory that another process can map: the device's DMA
        -object "memory-backend-memfd,id=ram,size=$1M,share=on"
        -machine q35,memory-backend=ram,vmport=off,smbus=off,sata=off,i8042=off
        -kernel "$LAB_DIR/kernel/vmlinuz" -initrd "$LAB_DIR/initrd"
        # The timer check counts ticks against the CPU, RCU and the soft-lockup detector seconds: an emulated CPU on a busy host
        # fails each now and then. What really hangs ends by its test's limit.
        -append "console=ttyS0 panic=-1 random.trust_cpu=on rcupdate.rcu_cpu_stall_suppress=1 nosoftlockup no_timer_check mitigations=off init_on_alloc=0 no5lvl $4"
        -chardev "file,id=con,path=$run/console.log" -serial chardev:con
        -object rng-random,id=rng,filename=/dev/urandom -device virtio-rng-pci,rng=rng
        -chardev "pipe,id=lab,path=$run/port" -chardev "file,id=out,path=$run/out.log"
        -device virtio-serial-pci,max_ports=3
        -device virtserialport,chardev=lab,name=lab -device virtserialport,chardev=out,name=out)
    case $3 in tcg*) args+=(-cpu "${LAB_CPU:-max}") ;; *) args+=(-cpu "${LAB_CPU:-host}") ;; esac
}

# A root port for a card, behind which it sits as in a real machine. One that is there before its card must have power, and room
# for what the card maps.
slot_args() { # NUMBER [PROPERTY...]
    args+=(-device "pcie-root-port,id=slot$1,chassis=$1,slot=$1${2:+,$2}")
}
usual_mib=1024
usual_slots=2
usual_machine() {
    local i
    machine $usual_mib 1 tcg ''
    args+=(-device vmgenid,guid=auto)
    for ((i = 1; i <= usual_slots; i++)); do slot_args $i power_controller_present=off,mem-reserve=4M,pref64-reserve=64M; done
}

# Where the usual guest's state is; another lab, QEMU's CPU or a change of this script has another one.
frozen_file() {
    printf '%s/frozen/%s' "$LAB_DIR" "$({ cat "$LAB_DIR/stamp" "$0"; echo "${LAB_CPU:-}"; } | cksum | tr ' ' -)"
}

# What a thawed guest does first.
thaw_job() { # SHARE
    cat <<JOB
date -s @$(date +%s) >/dev/null
echo 1 >/sys/bus/pci/rescan
${1:+host_share}
JOB
}

case $verb in
start)
    lab_ready
    mem=$usual_mib cpus=1 accel=tcg wait=300 kargs= share= iommu= boot= thaw=
    devices=() nets=()
    while getopts t:d:n:s:m:c:a:ik:w:b o; do
        case $o in
        b) boot=yes ;;
        i) iommu=yes ;;
        d) devices+=("$OPTARG") ;;
        n) nets+=("$OPTARG") ;;
        s) share=$OPTARG ;;
        m) mem=$OPTARG ;;
        c) cpus=$OPTARG ;;
        a) accel=$OPTARG ;;
        k) kargs=$OPTARG ;;
        w) wait=$OPTARG ;;
        *) usage ;;
        esac
    done
    shift $((OPTIND - 1))
    guest_pid >/dev/null && die $LAB_BROKEN "guest $name already runs"
    for d in ${devices[@]+"${devices[@]}"}; do
        [ -S "$d" ] || die $LAB_BROKEN "$d is not a socket: start the vfio-user server first"
    done
    [ -z "$share" ] || [ -d "$share" ] || die $LAB_BROKEN "$share is not a folder"
    frozen=$(frozen_file)
    [ -z "$boot$iommu$kargs" ] && [ "$mem $cpus $accel" = "$usual_mib 1 tcg" ] && [ $# = 0 ] && [ ${#devices[@]} -le $usual_slots ] &&
        [ -e "$frozen" ] && thaw=yes
    fresh_run
    if [ -n "$thaw" ]; then
        usual_machine
        args+=(-incoming "file:$frozen")
    else
        machine "$mem" "$cpus" "$accel" "${share:+lab_share }$kargs"
        # before the devices that are to sit behind it; interrupt remapping is what
        # makes vfio_iommu_type1 accept it, caching mode what makes QEMU see each map
        [ -z "$iommu" ] || args+=(-device intel-iommu,intremap=on,caching-mode=on)
    fi
    i=0
    for n in ${nets[@]+"${nets[@]}"}; do
        i=$((i + 1))
        # a card's address follows from the guest's name: the same every time, unlike its peers'
        mac=$(printf '%s/%s' "$name" "$i" | cksum | awk '{ printf "52:54:%02x:%02x:%02x:%02x", $1 / 16777216 % 256, $1 / 65536 % 256, $1 / 256 % 256, $1 % 256 }')
        args+=(-netdev "$n,id=net$i" -device "virtio-net-pci,netdev=net$i,mac=$mac,romfile=")
    done
    i=0
    for d in ${devices[@]+"${devices[@]}"}; do
        i=$((i + 1))
        d=$(cd "$(dirname "$d")" && pwd)/$(basename "$d")
        [ -n "$thaw" ] || slot_args $i
        args+=(-device "{\"driver\":\"vfio-user-pci\",\"id\":\"dev$i\",\"bus\":\"slot$i\",\"socket\":{\"type\":\"unix\",\"path\":\"$d\"}}")
    done
    [ -z "$share" ] || args+=(-virtfs "local,path=$share,mount_tag=host,security_model=none,multidevs=remap")
    began=$(date +%s.%N)
    qemu /dev/null "${args[@]}" "$@"
    open_port
    if [ -n "$thaw" ]; then
        job=$(thaw_job "$share")
        printf '0 %s %s \n%s' "$wait" ${#job} "$job" >&"$to"
    fi
    await "$wait" 0
    case $? in
    0) say "$name is up after $(awk -v a="$began" -v b="$(date +%s.%N)" 'BEGIN { printf "%.1f", b - a }') s" ;;
    1)
        show_end
        "$0" stop "$name"
        die $LAB_TIMEOUT "$name had not booted after $wait s"
        ;;
    *)
        show_end
        [ -z "$thaw" ] || rm -f "$frozen" # the next one gets another
        die $LAB_BROKEN "QEMU ended before $name had booted"
        ;;
    esac
    [ "$rc" = 0 ] || die $LAB_BROKEN "$name: its first job ended with status $rc"
    ;;
freeze)
    lab_ready
    frozen=$(frozen_file)
    mkdir -p "$LAB_DIR/frozen" || die $LAB_BROKEN "cannot make $LAB_DIR/frozen"
    exec {lock}>"$LAB_DIR/frozen/lock"
    flock "$lock"
    [ ! -e "$frozen" ] || exit 0
    rm -f "$LAB_DIR"/frozen/[0-9]*
    trap '"$0" stop "$name"; rm -f "$frozen.new"' EXIT
    trap 'exit 130' INT TERM
    fresh_run
    mkfifo "$run/monitor"
    usual_machine
    qemu "$run/monitor" "${args[@]}" -monitor stdio
    exec {monitor}<>"$run/monitor"
    open_port
    await 300 0 && printf 'migrate file:%s\nquit\n' "$frozen.new" >&"$monitor" && while guest_pid >/dev/null; do sleep 0.1; done
    mv "$frozen.new" "$frozen" 2>/dev/null && exit 0
    show_end
    die $LAB_BROKEN "$name could not be frozen"
    ;;
exec)
    secs=60
    while getopts t: o; do
        case $o in t) secs=$OPTARG ;; *) usage ;; esac
    done
    shift $((OPTIND - 1))
    [[ $secs =~ ^[1-9][0-9]*$ ]] || die $LAB_BROKEN "-t needs whole seconds"
    guest_pid >/dev/null || die $LAB_BROKEN "no guest $name is running"
    [ -e "$run/stuck" ] && die $LAB_BROKEN "guest $name no longer answers; stop it"
    exec {lock}>"$run/lock"
    flock "$lock"
    if [ $# -gt 0 ]; then printf '%s\n' "$*" >"$run/job"; else cat >"$run/job"; fi
    id=$(($(cat "$run/id" 2>/dev/null || echo 0) + 1))
    echo $id >"$run/id"
    mark="<end-of-$id-$RANDOM$RANDOM$RANDOM>"
    since=$(stat -c %s "$run/out.log")
    open_port
    { echo "$id $secs $(stat -c %s "$run/job") $mark" && cat "$run/job"; } >&"$to"
    await $((secs + 10)) $id
    case $? in
    0)
        printed "$since" "$mark"
        [ "$rc" != $LAB_TIMEOUT ] || say "stopped in the guest after $secs s"
        exit "$rc"
        ;;
    1)
        touch "$run/stuck"
        printed "$since"
        show_end 60
        die $LAB_TIMEOUT "$name does not answer any more ($secs s, and 10 s to end it)"
        ;;
    *)
        printed "$since"
        show_end 60
        grep -qs 'Kernel panic' "$run/console.log" && die $LAB_BROKEN "kernel panic in $name"
        die $LAB_BROKEN "QEMU ended while $name was busy"
        ;;
    esac
    ;;
stop)
    pid=$(guest_pid) || exit 0
    kill "$pid"
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        guest_pid >/dev/null || exit 0
        sleep 0.2
    done
    kill -9 "$pid"
    ;;
show)
    [ -d "$run" ] || die $LAB_BROKEN "no guest $name was ever started"
    pid=$(guest_pid) && say "$name runs as process $pid" || say "$name does not run"
    show_end
    ;;
*) usage ;;
esac
