#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""A program of TCP sockets is killed at 50 moments; TP_KILLS and TP_SEED choose others (tests/system/test_sockets_killed.py)."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), '../system'))

import test_sockets_killed  # noqa: E402

if __name__ == '__main__':
    test_sockets_killed.main(int(os.environ.get('TP_KILLS', '50')))
