#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# lint.sh [--list | NAME...]: format, static analysis and text rules. One "ok NAME" or "not ok NAME: reason" line a check.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
. scripts/common.sh
status=0

report() { # name, findings
	if [ -z "$2" ]; then
		printf 'ok lint-%s\n' "$1"
	else
		printf 'not ok lint-%s: %s finding(s)\n%s\n' "$1" "$(printf '%s\n' "$2" | wc -l)" "$(printf '%s\n' "$2" | head -n 25)"
		status=1
	fi
}

sources() { git ls-files -- "$@"; }

check_format() {
	sources '*.c' '*.h' | xargs -r -n 100 -P "$(nproc)" clang-format-14 --dry-run -Werror 2>&1 | grep -E 'error:' | cut -c1-160
}

# Only what the build compiles can be analysed; a header is seen through the files that include it.
check_tidy() {
	[ -f "$TP_BUILD/compile_commands.json" ] || { printf '%s has no compile_commands.json\n' "$TP_BUILD"; return; }
	sources 'drivers/*.c' 'model/*.c' 'apps/*.c' 'lib/*.c' 'examples/*.c' | xargs -r scripts/tidy.py "$TP_BUILD"
}

# By #include always; by the symbols of objects, too, where there are some.
check_layers() {
	local objects=()
	[ ! -f "$TP_BUILD/build.ninja" ] || objects=("--build=$TP_BUILD")
	scripts/check_layers.py ${objects[@]+"${objects[@]}"} 2>&1
}

check_shell() {
	sources '*.sh' 'share/completion/*' tp .ci/run | xargs -r -n 6 -P "$(nproc)" shellcheck -x -f gcc
}

# A test that cannot be started would be missed by nobody.
check_mode() {
	git ls-files -s -- 'tests/system/test_*' 'tests/lab/test_*' 'tests/long/test_*' |
		sed -n 's/^100644 .*\t\(.*\)/\1 is not executable/p'
}

check_spdx() {
	sources '*.c' '*.h' '*.sh' '*.py' '*.build' tp .ci/run meson_options.txt | xargs awk '
		function over() { if (file != "" && !found) print file " has no SPDX line" }
		FNR == 1 { over(); file = FILENAME; found = 0 }
		FNR > 3 { nextfile }
		/SPDX-License-Identifier: BSD-3-Clause/ { found = 1 }
		END { over() }'
}

# Words are put together here so that this file does not find itself.
check_words() {
	git grep -nEi "\\b(TO""DO|FIX""ME|X""XX|not yet imple""mented|place""holder|for n""ow)\\b" -- '*.c' '*.h' '*.py' '*.sh' \
		'*.build' '*.md' tp
	git grep -nE "(^|[^a-z.A-Z0-9_])/(w""ork|fa""rm)/|bash_jo""bs" -- .
}

check_length() {
	sources '*.c' '*.h' | xargs -r wc -l | awk '$2 != "total" && $1 > 600 { print $2 " has " $1 " lines, 600 is the limit" }'
}

# Each row of the tables of features ends with the names of tests, in backquotes.
check_features() {
	local name text
	text=$(mktemp) # what names may stand in, read once
	sources tests scripts | xargs -d '\n' cat >"$text"
	awk '/^\| *Feature/ { table = 1; getline; next } !/^\|/ { table = 0 } table' docs/features.md |
		sed 's/.*|\([^|]*\)|[ \t]*$/\1/' | grep -o '`[^`]*`' | tr -d '`' | sort -u | while read -r name; do
		grep -qF -- "$name" "$text" || git ls-files --error-unmatch "$name" >/dev/null 2>&1 ||
			printf 'docs/features.md names the test %s, which does not exist\n' "$name"
	done
	rm -f "$text"
	awk '/^\| *Feature/ { table = 1; getline; next } !/^\|/ { table = 0 }
		table && !/`[^`|]*`[^|]*\|[ \t]*$/ { printf "docs/features.md:%d: a feature without a test\n", NR }' docs/features.md
}

# No document says anything twice, and each file that it links to is there.
check_docs() {
	scripts/check_docs.py
}

# A member of a public structure that nobody reads or writes promises what does not happen.
check_members() {
	scripts/check_members.py
}

# A word that no test says may do nothing.
check_told() {
	scripts/check_told.py
}

checks="format tidy layers shell mode spdx words length features docs members told"
[ "${1:-}" != --list ] || { tr ' ' '\n' <<<"$checks"; exit; }
[ $# != 0 ] || read -ra all <<<"$checks"
names=("${@:-${all[@]}}")
for c in "${names[@]}"; do
	case " $checks " in
	*" $c "*) ;;
	*) tp_die "unknown check '$c'; known: $checks" ;;
	esac
done
# Most use one CPU.
findings=$(mktemp -d)
trap 'rm -rf "$findings"' EXIT
running=0
for c in "${names[@]}"; do
	[ $running -lt "$(nproc)" ] || { wait -n; running=$((running - 1)); }
	"check_$c" >"$findings/$c" &
	running=$((running + 1))
done
wait
for c in "${names[@]}"; do report "$c" "$(cat "$findings/$c")"; done
exit $status
