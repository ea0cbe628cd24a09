/* SPDX-License-Identifier: Apache-2.0
 *
 * Words of a command line, see words.h.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/words.h"

/* Reads one word at *p into out; false: a quote was not closed. */
static bool read_word(const char **p, struct buf *out)
{
	char quote = 0;

	for (; **p && (quote || !isspace((unsigned char)**p)); (*p)++) {
		char c = **p;

		if (c == '\\' && quote != '\'' && (*p)[1]) {
			buf_byte(out, (uint8_t) * ++*p);
		} else if (quote && c == quote) {
			quote = 0;
		} else if (!quote && (c == '"' || c == '\'')) {
			quote = c;
		} else {
			buf_byte(out, (uint8_t)c);
		}
	}
	return !quote;
}

struct err *words_split(const char *line, char ***ret, unsigned *ret_n)
{
	char **words = xcalloc(1, sizeof *words);
	unsigned n = 0;

	for (;;) {
		struct buf word = BUF_INIT;

		line += strspn(line, " \t\r\n\v\f");
		if (!*line)
			break;
		if (!read_word(&line, &word)) {
			buf_free(&word);
			words_free(words);
			return err_cure(err_new(ERR_USAGE, "a quotation mark is not closed"),
				"Close it, or write \\\" for the character");
		}
		words = xrealloc(words, (n + 2) * sizeof *words);
		words[n++] = buf_steal(&word);
		words[n] = NULL;
	}
	*ret = words;
	*ret_n = n;
	return NULL;
}

void words_free(char **words)
{
	for (char **w = words; w && *w; w++)
		free(*w);
	free(words);
}

char *words_join(char *const *words, unsigned n)
{
	struct buf out = BUF_INIT;

	for (unsigned i = 0; i < n; i++) {
		const char *w = words[i];

		if (i)
			buf_byte(&out, ' ');
		if (*w && !strpbrk(w, " \t\r\n\v\f'\"\\")) {
			buf_str(&out, w);
			continue;
		}
		buf_byte(&out, '"');
		for (; *w; w++) {
			if (*w == '"' || *w == '\\')
				buf_byte(&out, '\\');
			buf_byte(&out, (uint8_t)*w);
		}
		buf_byte(&out, '"');
	}
	return buf_steal(&out);
}

/* A number at the start of word; *end is what follows. No sign, no overflow. */
static bool leading_u64(const char *word, uint64_t *ret, const char **end)
{
	char *stop;

	if (*word == '#')
		word++;
	if (!isdigit((unsigned char)*word))
		return false;
	errno = 0;
	*ret = strtoull(word, &stop, word[0] == '0' && (word[1] | 32) == 'x' ? 16 : 10);
	*end = stop;
	return !errno && stop != word;
}

bool word_u64(const char *word, uint64_t *ret)
{
	const char *end;

	return leading_u64(word, ret, &end) && !*end;
}

bool word_size(const char *word, uint64_t *ret)
{
	static const char suffixes[] = "kmg";
	const char *end, *s;
	unsigned shift = 0;

	if (!leading_u64(word, ret, &end))
		return false;
	if (*end) {
		s = strchr(suffixes, tolower((unsigned char)*end));
		if (!s || end[1])
			return false;
		shift = 10 * (unsigned)(s - suffixes + 1);
	}
	if (*ret > UINT64_MAX >> shift)
		return false;
	*ret <<= shift;
	return true;
}

bool word_range(const char *word, uint64_t *ret_first, uint64_t *ret_last)
{
	const char *end = word;

	*ret_first = 0;
	*ret_last = UINT64_MAX;
	if (*word != '-' && !leading_u64(word, ret_first, &end))
		return false;
	if (!*end) {
		*ret_last = *ret_first;
		return end != word;
	}
	if (*end++ != '-')
		return false;
	if (!*end)
		return *word != '-';
	return word_u64(end, ret_last) && *ret_first <= *ret_last;
}

bool word_duration(const char *word, uint64_t *ret_ns)
{
	static const struct {
		const char *unit;
		double ns;
	} units[] = {{"", 1e6}, {"ns", 1}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}};
	char *end;
	double v;

	if (!isdigit((unsigned char)*word) && *word != '.')
		return false;
	v = strtod(word, &end);
	for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
		if (strcmp(end, units[i].unit) || !(v >= 0) || v * units[i].ns > 9e18)
			continue;
		*ret_ns = (uint64_t)llround(v * units[i].ns);
		return true;
	}
	return false;
}

bool word_bool(const char *word, bool *ret)
{
	static const char *const on[] = {"on", "yes", "1", "enable", "true"};
	static const char *const off[] = {"off", "no", "0", "disable", "false"};

	for (size_t i = 0; i < sizeof on / sizeof *on; i++) {
		if (!strcmp(word, on[i]) || !strcmp(word, off[i])) {
			*ret = !strcmp(word, on[i]);
			return true;
		}
	}
	return false;
}

const char *words_bytes(char *dst, size_t n, uint64_t bytes)
{
	static const char *const units[] = {"bytes", "kB", "MB", "GB", "TB", "PB", "EB"};
	double v = (double)bytes;
	unsigned u = 0;

	while (v >= 999.95 && u + 1 < sizeof units / sizeof *units) {
		v /= 1000;
		u++;
	}
	snprintf(dst, n, u ? "%.1f %s" : "%.0f %s", v, units[u]);
	return dst;
}
