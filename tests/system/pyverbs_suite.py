# SPDX-License-Identifier: BSD-3-Clause
"""pyverbs_suite.py FOLDER ADDRESS ARGS: rdma-core's own suite, whose folder of tests is in FOLDER. It prints RESULT, then ok, skip
or fail, the test, and why. ADDRESS is the port's, which the suite asks a kernel's interface for when it is '-'."""
import os
import sys
import time
import unittest
from importlib.machinery import SourceFileLoader

FOLDER, ADDRESS = sys.argv[1:3]
del sys.argv[1:3]
sys.path[:0] = [FOLDER, os.path.join(FOLDER, 'tests')]

from args_parser import parser  # noqa: E402


class Result(unittest.TextTestResult):
    @staticmethod
    def say(test, word, why=''):
        sys.stdout.write('\nRESULT %s %s %s\n' % (word, test.id(), ' '.join(str(why).split())))
        sys.stdout.flush()

    def addSuccess(self, test):
        self.say(test, 'ok')

    def addSkip(self, test, reason):
        self.say(test, 'skip', reason)

    def addFailure(self, test, err):
        self.say(test, 'fail', err[1])

    addError = addFailure


suite = SourceFileLoader('tests', os.path.join(FOLDER, 'tests/__init__.py')).load_module()

from tests import base, test_cq, utils  # noqa: E402

if ADDRESS != '-':
    base.RDMATestCase._get_ip_mac = lambda self, dev, port, idx: self.args.append([dev, port, idx, ADDRESS, None])

# One test sends and looks at once for completions that are in the queue: they have to have come.
resize_cq, send = test_cq.CQTest.test_resize_cq, utils.send


def send_and_wait(*args, **kwargs):
    send(*args, **kwargs)
    time.sleep(0.1)


def test_resize_cq(self):
    utils.send = send_and_wait
    try:
        resize_cq(self)
    finally:
        utils.send = send


test_cq.CQTest.test_resize_cq = test_resize_cq
parser.parse_args()
unittest.main(module=suite, testRunner=unittest.TextTestRunner(resultclass=Result))
