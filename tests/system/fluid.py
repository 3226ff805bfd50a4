# SPDX-License-Identifier: BSD-3-Clause
"""The fluid model of DCQCN (Zhu et al., "ECN or Delay", CoNEXT 2016), solved apart from the project's code: where n equal flows
of one bottleneck stand still."""


def marked(n, line=40e9, wire=1082, counted=1062, cnp=50e-6, alpha=55e-6, timer=55e-6, octets=10e6, stages=5, ai=40e6, g=1 / 256):
    """The part of packets that is marked then; wire: octets that a packet occupies the line for, counted: those of a stage. g says
    how fast the point is reached, not where it is."""
    del g
    rate, step, count = line / 8 / wire / n, ai / 8 / wire, octets / counted

    def unbalanced(p):
        """How much more the decreases take than the increases give."""
        q = 1 - p
        a, cut = 1 - q**(alpha * rate), 1 - q**(cnp * rate)
        b, d = p / (q**-count - 1), p / (q**(-timer * rate) - 1)
        c, e = b * q**(stages * count), d * q**(stages * timer * rate)
        return a * cut**2 / (cnp**2 * (b + d)) - step * rate * (c + e)

    low, high = 1e-7, 0.5
    for _ in range(200):
        mid = (low * high)**0.5
        low, high = (low, mid) if unbalanced(mid) > 0 else (mid, high)
    return low


def queue(p, kmin, kmax, pmax):
    """The depth at which a switch marks this part."""
    return kmin + p / pmax * (kmax - kmin)
