#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every fault and every variant of tests/system/test_check.py, of which ./tp test runs some."""
import os
import sys

SYSTEM = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), 'system')
os.execv(sys.executable, [sys.executable, os.path.join(SYSTEM, 'test_check.py'), 'full'])
