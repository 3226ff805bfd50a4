#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# man.sh OUTPUT VERSION NAME DESCRIPTION INCLUDE PROGRAM [HELP-ARGUMENT...]: a manual page of what the program says of itself,
# by help2man. INCLUDE is a file of sections that no table has. Commands come from --help-md where HELP-ARGUMENT is "--".
set -eu
out=$1 version=$2 name=$3 what=$4 include=$5 program=$6
shift 6
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# help2man takes the name from what it starts, and knows a synopsis by its capital letter.
cat >"$dir/$name" <<HELP
#!/bin/sh
"$program" $* --help | sed -e 's/^usage:/Usage:/' -e 's/^       \(triplane\|tp_\)/  or:  \1/'
HELP
chmod +x "$dir/$name"
cp "$include" "$dir/include"

if [ "$name" = triplane ]; then
	"$program" -- --help-md | awk '
		function roff(s) {
			gsub(/\\/, "\\e", s); gsub(/-/, "\\-", s)
			return s ~ /^[.\x27]/ ? "\\&" s : s
		}
		/^## / { if (!n++) print "\n[commands]\nThey are typed at the prompt, given with \\-e, or stand in a file."; print ".SS " substr($0, 4); next }
		/^### / { s = substr($0, 6); sub(/`$/, "", s); print ".TP\n\\fB" roff(s) "\\fR"; next }
		n && /^- `/ { s = substr($0, 3); gsub(/`/, "", s); print ".br\n" roff(s); next }
		n && NF { gsub(/`/, ""); print roff($0) }' >>"$dir/include"
fi

# A date of the build would make two of them differ.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(date -r "$include" +%s)} help2man --no-info --source="triplane $version" \
	--version-string="$version" --name="$what" --include="$dir/include" --output="$out" "$dir/$name"
