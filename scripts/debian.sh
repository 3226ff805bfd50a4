# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Debian packages of another release, or their sources, without touching what the machine has installed: source lists
# are derived from the machine's own, kept in a folder of ours and used by apt only for one call. Signatures are
# checked by the keyring that the machine's own list names. Sourced.

# deb_sources DIR TYPE [SUITE]: writes DIR/apt/parts from the machine's lists. Only entries of this Debian release
# count: third-party lists have neither DPDK nor other suites. With SUITE, security and update suites are left out
# (not every release has them) and the release's own suite is replaced.
deb_sources() {
	local dir=$1 type=$2 suite=${3:-} codename f out
	codename=$(. /etc/os-release && printf '%s' "${VERSION_CODENAME:-}")
	[ -n "$codename" ] || { printf 'no VERSION_CODENAME in /etc/os-release\n' >&2; return 1; }
	rm -rf "$dir/apt"
	mkdir -p "$dir/apt/lists/partial" "$dir/apt/cache/archives/partial" "$dir/apt/parts"
	for f in /etc/apt/sources.list /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources; do
		[ -f "$f" ] || continue
		out=$dir/apt/parts/$(basename "$f")
		case $f in
		*.sources) out=${out%.sources}-tp.sources ;;
		*) out=${out%.list}-tp.list ;;
		esac
		awk -v type="$type" -v suite="$suite" -v codename="$codename" -v one="${f##*.}" '
			function wanted(s) { return suite == "" ? index(s, codename) == 1 : s == codename }
			function pick(list, n, part, i, s) {
				s = ""
				n = split(list, part, /[ \t]+/)
				for (i = 1; i <= n; i++)
					if (wanted(part[i]))
						s = s " " (suite == "" ? part[i] : suite)
				return s
			}
			function flush(s) {
				if (stanza != "" && suites != "")
					printf "%sSuites:%s\n\n", stanza, suites
				stanza = suites = ""
			}
			one != "sources" && /^deb[ \t]/ {
				opt = ""
				rest = substr($0, 5)
				if (match(rest, /^[ \t]*\[[^]]*\]/)) {
					opt = substr(rest, RSTART, RLENGTH) " "
					rest = substr(rest, RSTART + RLENGTH)
				}
				n = split(rest, w, /[ \t]+/)
				b = w[1] == "" ? 2 : 1
				if (wanted(w[b + 1]))
					printf "%s %s%s %s main\n", type, opt, w[b], suite == "" ? w[b + 1] : suite
				next
			}
			one != "sources" { next }
			/^[ \t]*$/ { flush(); next }
			/^#/ { next }
			/^Types:/ { stanza = stanza "Types: " type "\n"; next }
			/^Suites:/ { suites = pick(substr($0, 8)); next }
			{ stanza = stanza $0 "\n" }
			END { flush() }' "$f" >"$out"
		[ -s "$out" ] || rm -f "$out"
	done
	[ -n "$(ls "$dir/apt/parts")" ] || { printf 'no apt source of %s on this machine\n' "$codename" >&2; return 1; }
}

# deb_apt DIR COMMAND...: apt-get or apt-cache with DIR's lists only.
deb_apt() {
	local dir=$1 tool=$2
	shift 2
	"$tool" -q -o Dir::Etc::SourceList=/dev/null -o "Dir::Etc::SourceParts=$dir/apt/parts" \
		-o "Dir::State::Lists=$dir/apt/lists" -o "Dir::State::status=/dev/null" -o "Dir::Cache=$dir/apt/cache" \
		-o APT::Sandbox::User="$(id -un)" -o APT::Get::List-Cleanup=0 "$@"
}

# deb_source_files DIR PACKAGE=VERSION|PACKAGE SUITE TARGET PATH...: unpacks PATHs of the upstream tarball of a
# source package into TARGET.
deb_source_files() {
	local dir=$1 package=$2 suite=$3 target=$4
	shift 4
	deb_sources "$dir" deb-src "$suite" && deb_apt "$dir" apt-get update || return 1
	(cd "$dir/apt" && deb_apt "$dir" apt-get source --download-only "$package") || return 1
	mkdir -p "$target"
	tar -xf "$dir/apt/${package%%=*}"_*.orig.tar.* -C "$target" --strip-components=1 --wildcards "${@/#/*/}" || return 1
	rm -rf "$dir/apt"
}
