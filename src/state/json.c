/* SPDX-License-Identifier: Apache-2.0
 *
 * Bytes as a JSON string, see json.h.
 */
#include "state/json.h"

/* Bytes of the UTF-8 character at p (RFC 3629, section 4), or 0 when there is none. */
static unsigned utf8_len(const uint8_t *p, uint64_t n)
{
	unsigned len = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;

	if (p[0] < 0xc2 || p[0] > 0xf4 || len > n)
		return 0;
	for (unsigned i = 1; i < len; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if ((p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xed && p[1] > 0x9f) || (p[0] == 0xf0 && p[1] < 0x90) ||
		(p[0] == 0xf4 && p[1] > 0x8f))
		return 0;
	return len;
}

void json_text(struct buf *out, struct sbt_blob t)
{
	const uint8_t *p = t.p;
	unsigned len;

	buf_byte(out, '"');
	for (uint64_t i = 0; i < t.len; i++) {
		if (p[i] == '"' || p[i] == '\\') {
			buf_byte(out, '\\');
			buf_byte(out, p[i]);
		} else if (p[i] < 0x20 || p[i] == 0x7f) {
			buf_printf(out, "\\u%04x", p[i]);
		} else if (p[i] < 0x80) {
			buf_byte(out, p[i]);
		} else if ((len = utf8_len(p + i, t.len - i))) {
			buf_add(out, p + i, len);
			i += len - 1;
		} else {
			buf_str(out, "\xef\xbf\xbd");
		}
	}
	buf_byte(out, '"');
}
