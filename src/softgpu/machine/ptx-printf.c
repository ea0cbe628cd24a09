/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernels' printf. vprintf's second argument points to the arguments, each at its natural
 * alignment; floats came as doubles. Text is kept by the worker and written when the grid has
 * ended.
 */
#include "softgpu/watch/ptx-observe.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#define LINE_LIMIT 4096		/* of one format and of one %s */
#define OUTPUT_LIMIT (4u << 20) /* of one block */

void ptx_string(struct ptx_warp *w, const struct ptx_insn *i, unsigned lane, uint64_t a, char *buf,
	size_t n)
{
	size_t k = 0;

	for (; k + 1 < n; k++) {
		const char *p = ptx_generic(w, i, lane, a + k, 1, false);

		ptx_observe_lane(w, i, lane, p, 1, PTX_READ);
		buf[k] = *p;
		if (!buf[k])
			return;
	}
	buf[k] = 0;
}

static void put(struct ptx_worker *wk, const char *s, size_t n)
{
	size_t cap = wk->capprint ? wk->capprint : 1024;

	if (wk->nprint + n > OUTPUT_LIMIT)
		return;
	while (cap < wk->nprint + n)
		cap *= 2;
	if (cap > wk->capprint) {
		char *p = realloc(wk->print, cap);
		if (!p)
			return;
		wk->print = p;
		wk->capprint = cap;
	}
	memcpy(wk->print + wk->nprint, s, n);
	wk->nprint += n;
}

struct args {
	struct ptx_warp *w;
	const struct ptx_insn *i;
	unsigned lane;
	uint64_t base, at;
	unsigned taken;
};

static uint64_t take(struct args *a, unsigned size)
{
	uint64_t v = 0;
	const void *p;

	a->at = (a->at + size - 1) / size * size;
	p = ptx_generic(a->w, a->i, a->lane, a->base + a->at, size, false);
	ptx_observe_lane(a->w, a->i, a->lane, p, size, PTX_READ);
	memcpy(&v, p, size);
	a->at += size;
	a->taken++;
	return v;
}

/* One conversion: the flags, width and precision are kept, the length modifier is ours. */
static void convert(struct args *a, const char *spec, size_t n, char conv, bool is_long)
{
	char fmt[96], out[LINE_LIMIT + 512], str[LINE_LIMIT];
	int len = 0, star[2], nstar = 0;
	size_t k = 0;
	uint64_t v;

	for (size_t j = 0; j < n && k < 64; j++) {
		if (spec[j] == '*' && nstar < 2) {
			star[nstar] = (int)take(a, 4);
			if (star[nstar] > 256 || star[nstar] < -256)
				star[nstar] = 256;
			k += (size_t)snprintf(fmt + k, 16, "%d", star[nstar++]);
		} else {
			fmt[k++] = spec[j];
		}
	}
	switch (conv) {
	case 'd':
	case 'i':
		v = take(a, is_long ? 8 : 4);
		snprintf(fmt + k, sizeof(fmt) - k, "%s", PRId64);
		len = snprintf(out, sizeof(out), fmt, is_long ? (int64_t)v : (int64_t)(int32_t)v);
		break;
	case 'u':
	case 'x':
	case 'X':
	case 'o':
		v = take(a, is_long ? 8 : 4);
		snprintf(fmt + k, sizeof(fmt) - k, "l%c", conv);
		len = snprintf(out, sizeof(out), fmt, (unsigned long)v);
		break;
	case 'c':
		snprintf(fmt + k, sizeof(fmt) - k, "c");
		len = snprintf(out, sizeof(out), fmt, (int)take(a, 4));
		break;
	case 'p':
		snprintf(fmt + k, sizeof(fmt) - k, "p");
		len = snprintf(out, sizeof(out), fmt, (void *)(uintptr_t)take(a, 8));
		break;
	case 's':
		v = take(a, 8);
		if (v)
			ptx_string(a->w, a->i, a->lane, v, str, sizeof(str));
		else
			strcpy(str, "(null)");
		snprintf(fmt + k, sizeof(fmt) - k, "s");
		len = snprintf(out, sizeof(out), fmt, str);
		break;
	default: /* a floating-point one */
		snprintf(fmt + k, sizeof(fmt) - k, "%c", conv);
		len = snprintf(out, sizeof(out), fmt, ptx_u2d(take(a, 8)));
	}
	if (len > 0)
		put(a->w->wk, out, (size_t)len < sizeof(out) ? (size_t)len : sizeof(out) - 1);
}

int ptx_printf(
	struct ptx_warp *w, const struct ptx_insn *i, unsigned lane, uint64_t fmt, uint64_t args)
{
	struct args a = {w, i, lane, args, 0, 0};
	char text[LINE_LIMIT];
	const char *p = text, *q;

	if (!fmt)
		return -1;
	ptx_string(w, i, lane, fmt, text, sizeof(text));
	while (*p) {
		size_t plain = strcspn(p, "%"), n;
		bool is_long = false;
		put(w->wk, p, plain);
		p += plain;
		if (!*p)
			break;
		if (p[1] == '%') {
			put(w->wk, "%", 1);
			p += 2;
			continue;
		}
		n = 1 + strspn(p + 1, "-+ #0123456789.*");
		q = p + n;
		while (*q && strchr("hlzjtL", *q)) {
			is_long |= *q == 'l' || *q == 'z' || *q == 'j' || *q == 't';
			q++;
		}
		if (!*q || !strchr("diuxXocpsfFeEgGaA", *q) || n > 40) {
			put(w->wk, p, (size_t)(q - p) + (*q != 0));
			p = q + (*q != 0);
			continue;
		}
		convert(&a, p, n, *q, is_long);
		p = q + 1;
	}
	return (int)a.taken;
}
