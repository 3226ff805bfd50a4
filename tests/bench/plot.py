# SPDX-License-Identifier: BSD-3-Clause
"""Plots of the benches as SVG: panels side by side, each with its values from 0 upwards."""
import os

W, H, LEFT, TOP, GAP = 420, 260, 58, 46, 70
COLOURS = ('#1f5fa8', '#b0532b')


def rounded(values):
    """The top of an axis: the next round number above the largest value, where there is one."""
    top = max([v for v in values if v is not None] or [1.0])
    step = 10 ** (len(str(int(top))) - 1)
    return step * (int(top / step) + 1)


class Panel:
    """One set of axes. Each of series has a value for each label, None where there is none; names are those of the series."""

    def __init__(self, title, labels, series, top=None, names=()):
        self.title, self.labels, self.series, self.names = title, labels, series, names
        self.top = top or rounded(v for values in series for v in values)

    def draw(self, x0, y0):
        def x(i):
            return x0 + (W * (i + 0.5)) / len(self.labels)

        def y(v):
            return y0 + H - H * v / self.top

        out = ['<text x="%d" y="%d" class="t">%s</text>' % (x0, y0 - 12, self.title)]
        for k in range(5):
            v = self.top * k / 4
            out.append('<line x1="%d" x2="%d" y1="%.1f" y2="%.1f" class="g"/>' % (x0, x0 + W, y(v), y(v)))
            out.append('<text x="%d" y="%.1f" class="n">%.3g</text>' % (x0 - 6, y(v) + 4, v))
        for i, label in enumerate(self.labels):
            out.append('<text x="%.1f" y="%d" class="l">%s</text>' % (x(i), y0 + H + 16, label))
        for values, colour in zip(self.series, COLOURS):
            points = [(x(i), y(v)) for i, v in enumerate(values) if v is not None]
            out.append('<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>' % (' '.join('%.1f,%.1f' % p for p in points), colour))
            out += ['<circle cx="%.1f" cy="%.1f" r="3.5" fill="%s"/>' % (*p, colour) for p in points]
        for i, (name, colour) in enumerate(zip(self.names, COLOURS)):
            out.append('<text x="%d" y="%d" fill="%s">%s</text>' % (x0 + 8, y0 + 14 + 16 * i, colour, name))
        return out


def text(heading, panels):
    """The picture, two panels a row."""
    out = ['<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d">' % (2 * (W + GAP) + LEFT, -(-len(panels) // 2) * (H + GAP) + TOP),
           '<style>text{font:12px sans-serif}.t{font-weight:bold}.n{text-anchor:end}.l{text-anchor:middle}.g{stroke:#ddd}</style>',
           '<rect width="100%" height="100%" fill="#fff"/>',
           '<text x="%d" y="18">%s</text>' % (LEFT, heading)]
    for i, panel in enumerate(panels):
        out += panel.draw(LEFT + i % 2 * (W + GAP), TOP + 10 + i // 2 * (H + GAP))
    return '\n'.join(out + ['</svg>']) + '\n'


def write(folder, name, heading, panels):
    """Writes FOLDER/NAME.svg, and returns its path."""
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, name + '.svg')
    with open(path, 'w') as f:
        f.write(text(heading, panels))
    return path
