# SPDX-License-Identifier: BSD-3-Clause
"""A page of snapshot as a browser would find it: whether it is good HTML that loads nothing, and has what its JSON has."""
import html.parser

VOID = {'meta', 'link', 'br', 'polyline'}


class Page(html.parser.HTMLParser):
    """What a browser would find: values by their place in the document, plots, and whatever could load something."""

    def __init__(self, text):
        super().__init__()
        self.open, self.values, self.plots, self.loads, self.wrong, self.text = [], [], [], [], [], {}
        self.port = None
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        a = dict(attrs)
        self.loads += [v for k, v in attrs if k in ('src', 'href', 'action', 'data', 'srcset') and not v.startswith(('#', 'data:,'))]
        if any(k.startswith('on') for k in a):
            self.wrong.append(a)
        if 'data-at' in a:
            self.values.append([a['data-at'], ''])
        if 'data-port' in a:
            self.port = int(a['data-port'])
        if 'data-series' in a:
            self.plots.append({'port': self.port, 'series': a['data-series'], 'bold': []})
        if tag == 'polyline':
            self.plots[-1]['points'] = [tuple(map(float, p.split(','))) for p in a['points'].split()]
        if tag not in VOID:
            self.open.append((tag, a))

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open[-1][0] != tag:
            self.wrong.append('</%s> closes %s' % (tag, self.open[-1:]))
        else:
            self.open.pop()

    def handle_data(self, data):
        if not self.open:
            return
        tag, a = self.open[-1]
        self.text[a.get('id', tag)] = self.text.get(a.get('id', tag), '') + data
        if 'data-at' in a:
            self.values[-1][1] += data
        if tag == 'b':
            self.plots[-1]['bold'].append(data)


def at(doc, pointer):
    for part in pointer.split('/')[1:]:
        part = part.replace('~1', '/').replace('~0', '~')
        doc = doc[int(part)] if isinstance(doc, list) else doc[part]
    return doc


def leaves(doc):
    if isinstance(doc, (dict, list)):
        return sum(leaves(v) for v in (doc.values() if isinstance(doc, dict) else doc))
    return 1


def shown(page, doc):
    """Each value on the page is the document's, as it is written there, and nearly all of the document is on the page."""
    if page.wrong or page.open or page.loads:
        return 'no good HTML: %s %s %s' % (page.wrong[:3], page.open, page.loads)
    if '@import' in page.text['style'] or 'url(' in page.text['style']:
        return 'the style loads something'
    for media in ('prefers-color-scheme:dark', 'print'):
        if media not in page.text['style']:
            return 'no style for ' + media
    for pointer, text in page.values:
        v = at(doc, pointer)
        if text != ({True: 'on', False: 'off', None: '-'}[v] if v is None or isinstance(v, bool) else v if isinstance(v, str) else text) or (
                isinstance(v, (int, float)) and not isinstance(v, bool) and float(text) != v):
            return '%s: %r on the page, %r in the document' % (pointer, text, v)
    places = [p for p, _ in page.values]
    if len(places) != len(set(places)):
        return 'a place stands twice'
    parts = {k: leaves(v) for k, v in doc.items() if k not in ('made', 'version', 'history', 'counters')}
    for name, n in parts.items():
        there = sum(1 for p in places if p.startswith('/%s/' % name))
        if n - there > n // 5 + 2:
            return '%s: %d of %d values are on the page' % (name, there, n)
    return None
