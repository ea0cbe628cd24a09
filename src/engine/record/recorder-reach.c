/* SPDX-License-Identifier: Apache-2.0
 *
 * Finds which memory kernels may touch, from their PTX, and writes it into the control block, so
 * that the agent need not compare page-locked memory before launches that cannot read it
 * (capture/memory/reach.h). Kernels of which nothing is found count as reading everything. The
 * surprise: PTX beside machine code counts only if both are of one architecture, since code may
 * differ between architectures.
 */
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "engine/record/recorder-inside.h"
#include "gpucode/ptx-stores.h"
#include "gpucode/ptx-text.h"

#define TEXT_MAX (1u << 20)	/* bytes of a module's PTX */
#define KEPT_MAX (64u << 20)	/* of all modules' */
#define READ_MAX (256ull << 20) /* bytes read for all kernels: each reads its module's text */

struct reach_text {
	uint64_t hash;
	char *text;
	size_t n;
};

struct reach_module {
	uint32_t module;
	unsigned arch;
	uint64_t ptx_hash;
};

struct recorder_reach {
	struct reach_text *texts;
	size_t ntexts, cap_texts, bytes;
	struct reach_module *modules;
	size_t nmodules, cap_modules;
	uint64_t read;
};

static struct recorder_reach *of(struct recorder *r)
{
	if (!r->reach)
		r->reach = xcalloc(1, sizeof *r->reach);
	return r->reach;
}

static const struct reach_text *text_of(const struct recorder_reach *x, uint64_t hash)
{
	for (size_t i = 0; hash && i < x->ntexts; i++)
		if (x->texts[i].hash == hash)
			return &x->texts[i];
	return NULL;
}

void recorder_reach_code(struct recorder *r, const struct drain_item *it)
{
	struct recorder_reach *x = of(r);
	struct reach_text *t;

	if (it->code_kind != CODE_PTX || !it->code_size || it->code_size > TEXT_MAX ||
		it->code_size > KEPT_MAX - x->bytes || text_of(x, it->hash))
		return;
	MAKE_ROOM(x->texts, x->ntexts, x->cap_texts);
	t = &x->texts[x->ntexts++];
	*t = (struct reach_text){
		.hash = it->hash, .text = xmalloc(it->code_size), .n = it->code_size};
	memcpy(t->text, it->code, t->n);
	x->bytes += t->n;
}

void recorder_reach_module(struct recorder *r, const struct sbt_cmd_module_load *m)
{
	struct recorder_reach *x = of(r);

	if (!m->ptx_hash)
		return;
	MAKE_ROOM(x->modules, x->nmodules, x->cap_modules);
	x->modules[x->nmodules++] = (struct reach_module){.module = (uint32_t)m->new_module,
		.arch = m->machine_arch < 100000 ? (unsigned)m->machine_arch : UINT32_MAX,
		.ptx_hash = m->ptx_hash};
}

/* Whether the text is for this architecture, 90 for sm_90. */
static bool is_for(const struct reach_text *t, unsigned arch)
{
	const char *p = memmem(t->text, t->n, ".target", 7), *end = t->text + t->n;
	unsigned is = 0;

	p = p ? ptx_skip(p + 7, end) : end;
	if (end - p < 4 || memcmp(p, "sm_", 3))
		return false;
	for (p += 3; p < end && *p >= '0' && *p <= '9' && is < 100000; p++)
		is = is * 10 + (unsigned)(*p - '0');
	return is == arch;
}

static const struct reach_text *code_of(
	const struct recorder_reach *x, const struct sbt_cmd_kernel_def *k)
{
	const struct reach_text *t = text_of(x, k->code_hash);

	for (size_t i = x->nmodules; !t && i-- > 0;)
		if (x->modules[i].module == k->module) {
			t = text_of(x, x->modules[i].ptx_hash);
			return t && (!x->modules[i].arch || is_for(t, x->modules[i].arch)) ? t
											   : NULL;
		}
	return t;
}

/* Adds the words of a parameter that addresses are made of. False: there are too many, or the
 * kernel has no such parameter. */
static bool add_words(
	struct tsdb_reach *to, const struct sbt_cmd_kernel_def *k, const struct ptx_base *b)
{
	uint32_t at[2];

	if (b->symbol)
		return true;
	if (b->param >= k->params.len / sizeof at)
		return false;
	memcpy(at, (const uint8_t *)k->params.p + b->param * sizeof at, sizeof at);
	if (at[0] > 32768 || at[1] > 32768 || at[0] % 8)
		return false;
	const uint32_t end =
		b->size < at[1] && b->offset <= at[1] - b->size ? b->offset + b->size : at[1];
	for (uint32_t i = b->offset & ~7u; i < end; i += 8) {
		if (to->n == TSDB_REACH_WORDS || i + 8 > at[1])
			return false;
		to->word[to->n++] = (uint16_t)(at[0] + i);
	}
	return true;
}

/* Whether an access's address is made of the base. */
static bool is_used(const struct ptx_stores *s, unsigned base)
{
	for (size_t i = 0; i < s->nstores; i++)
		if (ptx_bases_has(&s->stores[i], base))
			return true;
	return false;
}

static bool find(
	const struct reach_text *t, const struct sbt_cmd_kernel_def *k, struct tsdb_reach *ret)
{
	char *name = xmalloc(k->kernel_name.len + 1);
	struct ptx_stores s;
	bool good;

	memcpy(name, k->kernel_name.p, k->kernel_name.len);
	name[k->kernel_name.len] = '\0';
	ptx_touches_find(&s, t->text, t->n, name);
	good = !s.anywhere;
	for (unsigned i = 0; good && i < s.nbases; i++)
		good = !is_used(&s, i) || add_words(ret, k, &s.bases[i]);
	ptx_stores_free(&s);
	free(name);
	return good;
}

static void publish(struct tsdb_reach *to, const struct tsdb_reach *what)
{
	const uint32_t turn = atomic_load_explicit(&to->turn, memory_order_relaxed) | 1;

	atomic_store_explicit(&to->turn, turn, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	to->n = what->n;
	to->key = what->key;
	memcpy(to->word, what->word, sizeof to->word);
	atomic_store_explicit(&to->turn, turn + 1, memory_order_release);
}

void recorder_reach_kernel(
	struct recorder *r, struct inferior *inf, const struct sbt_cmd_kernel_def *k)
{
	struct recorder_reach *x = of(r);
	const struct reach_text *t = code_of(x, k);
	struct tsdb_reach found = {.n = 0};

	if (!t || k->new_kernel >= TSDB_REACH_MAX || !k->code_hash || x->read > READ_MAX)
		return;
	x->read += t->n;
	found.key = XXH64(k->kernel_name.p, k->kernel_name.len, k->code_hash);
	if (find(t, k, &found))
		publish(&inferior_control(inf)->reach[k->new_kernel], &found);
}

void recorder_reach_free(struct recorder *r)
{
	for (size_t i = 0; r->reach && i < r->reach->ntexts; i++)
		free(r->reach->texts[i].text);
	if (r->reach) {
		free(r->reach->texts);
		free(r->reach->modules);
	}
	free(r->reach);
	r->reach = NULL;
}
