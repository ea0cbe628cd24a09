/* SPDX-License-Identifier: Apache-2.0
 *
 * Contents: the index of what the trace holds, reading, writing, hashing, verifying. Hashes are
 * computed where the memory is.
 */
#include "replayer/execute/replayer-execute.h"
#include "replayer/execute/replayer-fail.h"
#include "replayer/execute/replayer-watchdog.h"
#include "replayer/execute/replayer-window.h"
#include "base/first-where.h"

#include <stdlib.h>
#include <string.h>

/* --- index --- */

static struct err *index_piece(void *arg, const struct sbt_memory *m)
{
	struct rp *rp = arg;
	struct contents *x = &rp->contents;

	if (m->size > UINT64_MAX - m->addr)
		return rp_fail(rp, REPLAYER_E_TRACE, m->seq,
			"#%llu: a piece of memory wraps around", (unsigned long long)m->seq);
	if (m->role == SBT_MEMORY_START) {
		MAKE_ROOM(x->start, x->nstart, x->cap_start);
		x->start[x->nstart++] = *m;
	} else if (m->role == SBT_MEMORY_END) {
		MAKE_ROOM(x->end, x->nend, x->cap_end);
		x->end[x->nend++] = *m;
	} else {
		MAKE_ROOM(x->flow, x->nflow, x->cap_flow);
		x->flow[x->nflow++] = *m;
		x->any_freed |= m->role == SBT_MEMORY_FREED;
	}
	return NULL;
}

struct err *contents_read_index(struct rp *rp)
{
	return sbt_reader_memory(rp->trace, rp->first, rp->last, index_piece, rp);
}

const struct sbt_memory *contents_of(const struct rp *rp, uint64_t seq, size_t *ret_n)
{
	const struct contents *x = &rp->contents;
	size_t n = 0;
	const size_t at = FIRST_WHERE(x->nflow, i, x->flow[i].seq >= seq);

	while (at + n < x->nflow && x->flow[at + n].seq == seq)
		n++;
	*ret_n = n;
	return n ? &x->flow[at] : NULL;
}

const struct sbt_memory *contents_find(
	const struct rp *rp, uint64_t seq, enum sbt_memory_role role, uint64_t addr)
{
	size_t n;
	const struct sbt_memory *m = contents_of(rp, seq, &n);

	for (size_t i = 0; i < n; i++)
		if (m[i].role == role && m[i].addr == addr)
			return &m[i];
	return NULL;
}

/* --- moving bytes --- */

static struct err *no_such_memory(struct rp *rp, uint64_t addr, uint64_t size)
{
	return rp_fail(rp, REPLAYER_E_OTHER, 0, "0x%llx to 0x%llx is not memory of the window",
		(unsigned long long)addr, (unsigned long long)(addr + size));
}

struct err *contents_put(
	struct rp *rp, const struct sbt_memory *m, uint64_t addr, struct gpu_stream *stream)
{
	return m->has_bytes ? staging_upload(rp, m, m->addr, addr, stream) : NULL;
}

static struct err *read_device(struct rp *rp, uint64_t here, void *dst, size_t n)
{
	GPU(rp, copy_to_host, dst, here, n, rp->own);
	GPU(rp, stream_finish, rp->own);
	return NULL;
}

static struct err *read_as_it_is(struct rp *rp, uint64_t addr, void *dst, size_t n)
{
	uint64_t here;

	switch (place_find(rp, addr, n, &here)) {
	case PLACE_HOST:
		memcpy(dst, (const void *)(uintptr_t)here, n);
		return NULL;
	case PLACE_DEVICE:
		return read_device(rp, here, dst, n);
	default:
		return no_such_memory(rp, addr, n);
	}
}

/* Reads the recorded value of the word at addr. False: there is no word there, or nothing has
 * moved. */
static struct err *whole_word(struct rp *rp, uint64_t addr, uint8_t word[8], bool *ret)
{
	uint64_t here;

	*ret = rp->moved.to_there.n && place_find(rp, addr, 8, &here) != PLACE_NOWHERE;
	if (*ret)
		TRY(read_as_it_is(rp, addr, word, 8));
	if (*ret)
		moved_to_there(rp, addr, word, 8);
	return NULL;
}

/* Of a word that is only partly in the range, only that part is read. */
struct err *contents_read(struct rp *rp, uint64_t addr, void *dst, size_t n)
{
	const uint64_t first = addr & ~7ull, last = (addr + n) & ~7ull;
	uint8_t word[8];
	bool whole;

	TRY(read_as_it_is(rp, addr, dst, n));
	moved_to_there(rp, addr, dst, n);
	if (addr != first && n) {
		TRY(whole_word(rp, first, word, &whole));
		if (whole)
			memcpy(dst, word + (addr - first),
				first + 8 - addr < n ? (size_t)(first + 8 - addr) : n);
	}
	if (addr + n != last && last >= addr) {
		TRY(whole_word(rp, last, word, &whole));
		if (whole)
			memcpy((uint8_t *)dst + (last - addr), word, (size_t)(addr + n - last));
	}
	return NULL;
}

static struct err *write_device(
	struct rp *rp, uint64_t addr, uint64_t here, const void *src, size_t n)
{
	void *p = xmalloc(n + 1);

	memcpy(p, src, n);
	moved_to_here(rp, addr, p, n);
	struct err *e = rp_gpu(rp, rp->gpu->copy_to_device(here, p, n, rp->own));
	if (!e)
		e = rp_gpu(rp, rp->gpu->stream_finish(rp->own));
	free(p);
	return e;
}

static struct err *write_words(struct rp *rp, uint64_t addr, const void *src, size_t n)
{
	uint64_t here;

	switch (place_find(rp, addr, n, &here)) {
	case PLACE_HOST:
		memcpy((void *)(uintptr_t)here, src, n);
		moved_to_here(rp, addr, (void *)(uintptr_t)here, n);
		return NULL;
	case PLACE_DEVICE:
		return write_device(rp, addr, here, src, n);
	default:
		return no_such_memory(rp, addr, n);
	}
}

/* Writing part of a word may make it an address, or make it stop being one. */
struct err *contents_write(struct rp *rp, uint64_t addr, const void *src, size_t n)
{
	const uint64_t first = addr & ~7ull, end = (addr + n + 7) & ~7ull;
	uint64_t here;

	if (!rp->moved.to_here.n || !n || (addr == first && addr + n == end) || end < addr ||
		place_find(rp, first, end - first, &here) == PLACE_NOWHERE)
		return write_words(rp, addr, src, n);
	uint8_t *words = xmalloc(end - first);
	struct err *e = contents_read(rp, first, words, 8);
	if (!e)
		e = contents_read(rp, end - 8, words + (end - 8 - first), 8);
	if (!e) {
		memcpy(words + (addr - first), src, n);
		e = write_words(rp, first, words, end - first);
	}
	free(words);
	return e;
}

static struct err *apply(struct rp *rp, const struct sbt_memory *m)
{
	uint64_t here;
	uint64_t addr = m->addr;

	if (!m->has_bytes)
		return NULL;
	switch (place_find(rp, addr, m->size, &here)) {
	case PLACE_HOST:
		TRY(sbt_reader_memory_read(rp->trace, m, 0, (void *)(uintptr_t)here, m->size));
		moved_to_here(rp, addr, (void *)(uintptr_t)here, m->size);
		return NULL;
	case PLACE_DEVICE:
		TRY(contents_put(rp, m, here, rp->own));
		GPU(rp, stream_finish, rp->own);
		return NULL;
	default: /* memory that no command of the window needs */
		return NULL;
	}
}

struct err *contents_apply(struct rp *rp, uint64_t seq, enum sbt_memory_role role, bool *ret_any)
{
	bool any = false;
	size_t n;
	const struct sbt_memory *m = contents_of(rp, seq, &n);

	for (size_t i = 0; i < n; i++) {
		if (m[i].role != role)
			continue;
		/* Earlier work may still read what is about to change. */
		if (!any)
			TRY(execute_finish(rp));
		any = true;
		TRY(apply(rp, &m[i]));
	}
	if (ret_any)
		*ret_any = any;
	return NULL;
}

/* --- hashing --- */

void contents_open_hash(struct rp *rp)
{
	rp->has_hash = rp->lib.can & GPU_CAN_HASH && rp->gpu->hash_open().status == GPU_OK;
	if (!rp->has_hash)
		window_note(rp, false,
			"this device cannot load the hash kernel: comparing moves all memory to the host");
}

/* Hashes memory as read() delivers it, a pinned slot at a time. */
static struct err *hash_by_copy(struct rp *rp,
	struct err *(*read)(struct rp *rp, uint64_t from, void *dst, size_t n), uint64_t from,
	uint64_t size, struct sbt_hash *ret)
{
	uint8_t *bounce = rp->contents.slots[0].mem;

	*ret = (struct sbt_hash){{0, 0}};
	TRY(staging_collect(rp, true)); /* the slot is free then */
	for (uint64_t at = 0; at < size; at += STAGING_BYTES) {
		const uint64_t n = size - at < STAGING_BYTES ? size - at : STAGING_BYTES;

		watchdog_on(rp, 0);
		TRY(read(rp, from + at, bounce, (size_t)n));
		for (uint64_t p = 0; p < n; p += SBT_PAGE)
			sbt_range_hash_add(ret, (at + p) / SBT_PAGE,
				sbt_page_hash(bounce + p, n - p < SBT_PAGE ? n - p : SBT_PAGE));
	}
	sbt_range_hash_end(ret, size);
	return NULL;
}

/* Whether home's kernels can read the memory: all that is mapped; perhaps not a module's variable
 * on another device. */
static bool is_near(const struct rp *rp, uint64_t here, uint64_t size)
{
	return rp->devices.n < 2 || ranges_find(&rp->place.mapped, here, size);
}

struct err *contents_hash_pages(struct rp *rp, uint64_t here, uint64_t size, struct sbt_hash *ret)
{
	uint8_t *page;
	struct err *e = NULL;

	if (is_near(rp, here, size))
		return rp_gpu(rp,
			rp->gpu->hash_pages((struct hash_kernel_range){here, size}, ret, rp->own));
	page = xmalloc(SBT_PAGE);
	for (uint64_t at = 0; at < size && !e; at += SBT_PAGE) {
		const size_t n = size - at < SBT_PAGE ? (size_t)(size - at) : SBT_PAGE;

		e = read_device(rp, here + at, page, n);
		ret[at / SBT_PAGE] = sbt_page_hash(page, n);
	}
	free(page);
	return e;
}

static struct err *hash_device(
	struct rp *rp, const struct hash_kernel_range *r, size_t n, struct sbt_hash *ret)
{
	bool near = true;

	for (size_t i = 0; i < n && near; i++)
		near = is_near(rp, r[i].addr, r[i].size);
	for (size_t i = 0; i < n && rp->has_hash && !near; i++)
		if (is_near(rp, r[i].addr, r[i].size))
			TRY(rp_gpu(rp, rp->gpu->hash_ranges(&r[i], 1, &ret[i], rp->own)));
		else
			TRY(hash_by_copy(rp, read_device, r[i].addr, r[i].size, &ret[i]));
	if (rp->has_hash && !near)
		return NULL;
	if (rp->has_hash)
		return rp_gpu(rp, rp->gpu->hash_ranges(r, n, ret, rp->own));
	for (size_t i = 0; i < n; i++)
		TRY(hash_by_copy(rp, read_device, r[i].addr, r[i].size, &ret[i]));
	return NULL;
}

struct err *contents_hash(struct rp *rp, uint64_t addr, uint64_t size, struct sbt_hash *ret)
{
	const uint64_t begin = now_ns();
	struct err *e = NULL;
	uint64_t here;

	*ret = (struct sbt_hash){{0, 0}};
	switch (place_find(rp, addr, size, &here)) {
	case PLACE_HOST:
		*ret = sbt_range_hash((const void *)(uintptr_t)here, size);
		break;
	case PLACE_DEVICE:
		e = hash_device(rp, &(struct hash_kernel_range){here, size}, 1, ret);
		break;
	default:
		return no_such_memory(rp, addr, size);
	}
	rp->figures.hashed_bytes += size;
	rp->figures.hash_ns += now_ns() - begin;
	return e;
}

/* --- verifying --- */

/* The first page that differs from the recorded bytes. */
static struct err *first_difference(struct rp *rp, const struct sbt_memory *m, uint64_t *ret)
{
	uint8_t *want = xmalloc(SBT_PAGE), *got = xmalloc(SBT_PAGE);
	struct err *e = NULL;

	*ret = UINT64_MAX;
	for (uint64_t at = 0; at < m->size && !e && *ret == UINT64_MAX; at += SBT_PAGE) {
		const size_t n = m->size - at < SBT_PAGE ? (size_t)(m->size - at) : SBT_PAGE;

		watchdog_on(rp, 0);
		e = sbt_reader_memory_read(rp->trace, m, at, want, n);
		if (!e)
			e = contents_read(rp, m->addr + at, got, n);
		if (!e && memcmp(want, got, n))
			*ret = at / SBT_PAGE;
	}
	free(want);
	free(got);
	return e;
}

struct err *contents_hash_recorded(
	struct rp *rp, uint64_t addr, uint64_t size, struct sbt_hash *ret)
{
	uint64_t here;

	if (!rp->moved.to_there.n)
		return contents_hash(rp, addr, size, ret);
	if (place_find(rp, addr, size, &here) == PLACE_NOWHERE)
		return no_such_memory(rp, addr, size);
	return hash_by_copy(rp, contents_read, addr, size, ret);
}

/* Whether only addresses differ, because objects have moved. */
static struct err *is_same_but_for_addresses(
	struct rp *rp, const struct sbt_memory *m, uint64_t *first_page, bool *ret)
{
	struct sbt_hash sum;

	if (m->has_bytes) {
		TRY(first_difference(rp, m, first_page));
		*ret = *first_page == UINT64_MAX;
		return NULL;
	}
	TRY(hash_by_copy(rp, contents_read, m->addr, m->size, &sum)); /* gigabytes may differ */
	*ret = sbt_hash_equal(sum, m->hash);
	return NULL;
}

/* Hashes all pieces on the device in one launch. */
static struct err *hash_pieces(struct rp *rp, struct sbt_hash *hashes, bool *checked)
{
	const struct contents *x = &rp->contents;
	struct hash_kernel_range *r = xmalloc((x->nend + 1) * sizeof *r);
	struct sbt_hash *on_device = xcalloc(x->nend + 1, sizeof *on_device);
	size_t n = 0;
	uint64_t here, bytes = 0;

	for (size_t i = 0; i < x->nend; i++) {
		const struct sbt_memory *m = &x->end[i];
		const enum place_where where = place_find(rp, m->addr, m->size, &here);

		checked[i] = where != PLACE_NOWHERE;
		bytes += checked[i] ? m->size : 0;
		if (where == PLACE_HOST)
			hashes[i] = sbt_range_hash((const void *)(uintptr_t)here, m->size);
		else if (where == PLACE_DEVICE)
			r[n++] = (struct hash_kernel_range){here, m->size};
	}
	const uint64_t begin = now_ns();
	struct err *e = n ? hash_device(rp, r, n, on_device) : NULL;
	rp->figures.hashed_bytes += bytes;
	rp->figures.hash_ns += now_ns() - begin;
	n = 0;
	for (size_t i = 0; i < x->nend; i++)
		if (checked[i] &&
			place_find(rp, x->end[i].addr, x->end[i].size, &here) == PLACE_DEVICE)
			hashes[i] = on_device[n++];
	free(r);
	free(on_device);
	return e;
}

/* Whether a kernel of the window may have written to pinned memory, judged by the pointers that it
 * was given. */
static struct err *kernels_reach(struct rp *rp, uint64_t addr, bool *known, bool *ret)
{
	if (!*known)
		TRY(touched_find(rp));
	*known = true;
	*ret = false;
	for (size_t i = 0; i < rp->place.nwanted; i++)
		*ret |= rp->place.wanted[i].addr == addr && rp->place.wanted[i].by_kernel;
	return NULL;
}

/* The recording does not have what the program itself wrote to pinned memory after the last command
 * that could read it. What copies wrote there was compared when they ran; what kernels wrote is not
 * known. */
static struct err *judge_pinned(struct rp *rp, struct replayer_piece *p, bool *known)
{
	bool kernels;

	if (p->same || !p->checked || !ranges_find(&rp->place.host, p->addr, p->size))
		return NULL;
	TRY(kernels_reach(rp, p->addr, known, &kernels));
	p->checked = kernels ? REPLAYER_UNCHECKED : REPLAYER_OWN;
	return NULL;
}

static struct err *compare_pieces(struct rp *rp, const struct sbt_hash *hashes, const bool *checked,
	struct replayer_verified *v, struct buf *pieces)
{
	bool known = false;

	for (size_t i = 0; i < rp->contents.nend; i++) {
		const struct sbt_memory *m = &rp->contents.end[i];
		struct replayer_piece p = {.addr = m->addr,
			.size = m->size,
			.first_page = UINT64_MAX,
			.checked = checked[i] ? REPLAYER_CHECKED : REPLAYER_UNCHECKED};

		bool same = checked[i] && sbt_hash_equal(hashes[i], m->hash);
		if (checked[i] && !same && rp->moved.to_there.n)
			TRY(is_same_but_for_addresses(rp, m, &p.first_page, &same));
		p.same = same;
		TRY(judge_pinned(rp, &p, &known));
		if (p.checked != REPLAYER_CHECKED)
			p.first_page = UINT64_MAX;
		else if (!p.same && m->has_bytes && p.first_page == UINT64_MAX)
			TRY(first_difference(rp, m, &p.first_page));
		v->pieces++;
		v->same += p.same;
		v->unchecked += p.checked == REPLAYER_UNCHECKED;
		v->own += p.checked == REPLAYER_OWN;
		buf_add(pieces, &p, sizeof p);
	}
	return NULL;
}

static bool end_has(const struct rp *rp, uint64_t addr)
{
	for (size_t i = 0; i < rp->contents.nend; i++)
		if (rp->contents.end[i].addr == addr &&
			rp->contents.end[i].owner != SBT_MEMORY_GLOBAL)
			return true;
	return false;
}

/* Adds allocations that are live at the end but have no recorded contents there. */
static struct err *add_unchecked(struct rp *rp, struct replayer_verified *v, struct buf *pieces)
{
	struct state_alloc a;
	struct state *s;

	TRY(state_at(&s, rp->trace, rp->last));
	for (unsigned i = 0; state_alloc(s, i, &a); i++) {
		const struct replayer_piece p = {
			.addr = a.addr, .size = a.size, .first_page = UINT64_MAX};

		if (end_has(rp, a.addr) || objects_global_at(rp, a.addr, a.size))
			continue;
		v->pieces++;
		v->unchecked++;
		buf_add(pieces, &p, sizeof p);
	}
	state_free(s);
	return NULL;
}

static struct err *sum_freed(
	struct rp *rp, const struct verdict *y, struct replayer_verified *v, bool *known)
{
	struct replayer_piece p = {.addr = y->piece->addr,
		.size = y->piece->size,
		.same = y->same || y->unknown,
		.checked = REPLAYER_CHECKED};

	TRY(judge_pinned(rp, &p, known));
	v->freed++;
	v->freed_same += y->same;
	v->freed_unknown += y->unknown;
	v->freed_own += p.checked == REPLAYER_OWN;
	v->freed_mixed += p.checked == REPLAYER_UNCHECKED;
	if (p.same || p.checked != REPLAYER_CHECKED)
		return NULL;
	bool heap;
	TRY(heap_in_window(rp, &heap));
	v->freed_heap += heap;
	if (heap || v->first_freed)
		return NULL;
	v->first_freed = y->piece->seq;
	v->freed_addr = y->piece->addr;
	v->freed_size = y->piece->size;
	return NULL;
}

static struct err *sum_outputs(struct rp *rp, struct replayer_verified *v)
{
	const struct contents *x = &rp->contents;
	bool known = false;

	for (size_t i = 0; i < x->nverdicts; i++) {
		const struct verdict *y = &x->verdicts[i];

		if (y->piece->role == SBT_MEMORY_FREED) {
			TRY(sum_freed(rp, y, v, &known));
			continue;
		}
		v->outputs++;
		v->outputs_same += y->same;
		v->outputs_unknown += y->unknown;
		if (y->unknown && !v->first_unknown)
			v->first_unknown = y->piece->seq;
		if (!y->same && !y->unknown && !v->first_output)
			v->first_output = y->piece->seq;
	}
	return NULL;
}

static struct err *compare_one_freed(struct rp *rp, const struct sbt_memory *m)
{
	struct sbt_hash hash;
	uint64_t page;

	if (place_find(rp, m->addr, m->size, &page) == PLACE_NOWHERE)
		return NULL;
	TRY(contents_hash(rp, m->addr, m->size, &hash));
	bool same = sbt_hash_equal(hash, m->hash);
	if (!same && rp->moved.to_there.n)
		TRY(is_same_but_for_addresses(rp, m, &page, &same));
	staging_verdict(rp, m, same);
	return NULL;
}

struct err *contents_compare_freed(struct rp *rp, uint64_t seq)
{
	size_t n;
	const struct sbt_memory *m = rp->contents.any_freed ? contents_of(rp, seq, &n) : NULL;
	bool finished = false;

	for (size_t i = 0; m && i < n; i++) {
		if (m[i].role != SBT_MEMORY_FREED)
			continue;
		if (!finished)
			TRY(execute_finish(rp));
		finished = true;
		TRY(compare_one_freed(rp, &m[i]));
	}
	return NULL;
}

struct err *contents_verify(struct rp *rp, struct replayer_verified *ret, struct buf *pieces)
{
	TRY(staging_collect(rp, true));
	if (rp->position < rp->last)
		return rp_fail(rp, REPLAYER_E_OTHER, 0,
			"the position is #%llu: memory can be compared at the window's end, #%llu",
			(unsigned long long)rp->position, (unsigned long long)rp->last);
	struct sbt_hash *hashes = xcalloc(rp->contents.nend + 1, sizeof *hashes);
	bool *checked = xcalloc(rp->contents.nend + 1, sizeof *checked);
	struct err *e = hash_pieces(rp, hashes, checked);
	if (!e)
		e = compare_pieces(rp, hashes, checked, ret, pieces);
	free(hashes);
	free(checked);
	TRY(e);
	TRY(add_unchecked(rp, ret, pieces));
	TRY(sum_outputs(rp, ret));
	ret->forced = rp->forced;
	return NULL;
}
