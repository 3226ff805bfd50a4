#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What programs ask of shared ports (tests/fuzz/fuzz_share.c), by libFuzzer for a minute from the seeds of tests/fuzz/seeds.py and
# from what earlier runs found new ground with. A longer run by hand: scripts/fuzz.sh SECONDS share.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
. scripts/common.sh
began=$(mktemp)
scripts/fuzz.sh 60 share
rc=$?
found=$(find "$TP_CACHE/fuzz/found" -name 'share-*' -newer "$began" | wc -l)
rm -f "$began"
echo "# $(find "$TP_CACHE/fuzz/seeds/share" -type f | wc -l) seeds, findings: $found"
[ "$rc" = 0 ] && [ "$found" = 0 ]
