# SPDX-License-Identifier: Apache-2.0
"""How objects show themselves: in a notebook as tables, on a terminal without what could steer it."""
import html as _html


def clean(value):
    """A text that is safe on a terminal."""
    return ''.join(c if c.isprintable() else '\ufffd' for c in str(value))


def table(caption, names, rows):
    """An HTML table; every text is escaped."""
    head = ''.join(f'<th>{_html.escape(str(n))}</th>' for n in names)
    body = ''.join('<tr>' + ''.join(f'<td>{_html.escape(str(v))}</td>' for v in row) + '</tr>' for row in rows)
    return f'<table><caption>{_html.escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>'
