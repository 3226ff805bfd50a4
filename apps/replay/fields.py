# SPDX-License-Identifier: BSD-3-Clause
# Names of the fields of answers, out of the headers that driver and model share: a row {prefix, name, field, bytes} each.
import re
import sys

DEFINE = re.compile(r'^#define MLX4_([A-Z0-9]+)_([A-Z0-9_]+) (?:(PRM_[DBH]\(.*?\))|(0x[0-9a-f]+u) /\* be64)')
for path in sys.argv[1:]:
    with open(path) as f:
        for line in f:
            m = DEFINE.match(line)
            if m:
                prefix, name, field, offset = m.groups()
                macro = 'MLX4_%s_%s' % (prefix, name)
                print('{"%s", "%s", %s, %d},' % (prefix, name.lower(), macro, 4 if field else 8))
