/* SPDX-License-Identifier: Apache-2.0
 *
 * Walks stacks and remembers them. Between the application and the agent's callback are the source,
 * the driver and the runtime, which have no frame pointers, so a first walk uses libunwind. It also
 * gives the stack slot of each return address. Such paths are kept in a tree: if the callback is
 * entered with the same stack pointer, and the first slot has the same return address, then the
 * next slot is where it was, and so on: a walk is one load and one compare per frame. (A function
 * that calls alloca() moves the slots above it; then a compare fails and the walk is made anew.)
 * Paths that were taken last lie beside the tree as plain lists (struct flat): all slots of one are
 * compared at once, without a branch for each.
 *
 * In a Python process one native path serves many Python stacks, so there a path has no id of its
 * own: the id is found from the path and the number that python-stack.c computes from the Python
 * frames. When the two are merged, the addresses on the C stack show which native frame runs which
 * Python frames.
 */
#include "capture/stacks/stack.h"

#include <dlfcn.h>
#include <link.h>
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#include <string.h>
#include "capture/core/agent.h"
#include "capture/stacks/mapping.h"
#include "capture/objects/map.h"
#include "capture/stacks/python-stack.h"
#include "capture/core/thread.h"

#define NODES (1u << 20) /* touched as far as used */
#define MIXED (1u << 16)
#define LATER UINT32_MAX /* a path whose own id was not needed so far */
#define ROOTS 1024u
#define FLATS 64u
#define FLAT_MAX 48u /* frames; a multiple of FLAT_STEP */
#define FLAT_STEP 4u
#define WALK_MAX (TSDB_STACK_MAX + 32) /* the hidden frames are extra */
#define FRAME_BYTES_MAX (16u << 20)    /* a larger jump of the frame pointer is an error */

struct node {
	uint64_t slot, pc;
	uint32_t sibling, child; /* indices; 0: none */
	uint32_t id;		 /* not 0: the path ends here */
	uint32_t parent;
};
/* Stacks with Python frames: by path and frames. */
struct mixed {
	uint64_t key; /* 0: free */
	uint32_t id, pad;
};
/* A path of the tree. Its slots lie between the callback's frame and the end of the thread's own
 * stack, so they can be read whatever the stack holds now. */
struct flat {
	uint64_t frame;
	uint32_t leaf;
	uint32_t n; /* a multiple of FLAT_STEP: the last frame is repeated; 0: free */
	struct {
		uint64_t slot, pc;
	} at[FLAT_MAX];
};
struct memo {
	uint32_t used, depth, generation, nmixed;
	uint32_t root[ROOTS];
	struct mixed mixed[MIXED];
	struct flat flat[FLATS];
	struct node node[NODES]; /* 0 is not used */
};
struct walk {
	unsigned n;
	bool steady; /* every slot has its return address */
	uint64_t slot[WALK_MAX], pc[WALK_MAX];
};

/* libunwind is opened, not linked: the agent must also load on machines without it. */
static struct {
	__typeof__(&unw_init_local) init_local;
	__typeof__(&unw_step) step;
	__typeof__(&unw_get_reg) get_reg;
	int (*getcontext)(unw_tdep_context_t *);
} unw;
static _Atomic uint32_t next_id = 1;
/* rises when a library was unloaded: pcs may have another meaning */
static _Atomic uint32_t generation;
static _Atomic unsigned long long libraries;
static struct map known; /* hash of (thread, pcs) -> id */

#define STRINGIFY(x) #x
#define SYMBOL(x) STRINGIFY(x)

/* At its first use libunwind makes a pipe that it keeps (its tdep_init_mem_validate()). This makes
 * it do so now, and not at some stack after an attach. */
static void unw_first(void)
{
	unw_context_t context;
	unw_cursor_t cursor;
	if (unw.init_local && !unw.getcontext(&context))
		(void)unw.init_local(&cursor, &context);
}

void stack_init(void)
{
	python_look();
	void *lib = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		return;
	unw.init_local = (__typeof__(unw.init_local))(uintptr_t)dlsym(lib, SYMBOL(unw_init_local));
	unw.step = (__typeof__(unw.step))(uintptr_t)dlsym(lib, SYMBOL(unw_step));
	unw.get_reg = (__typeof__(unw.get_reg))(uintptr_t)dlsym(lib, SYMBOL(unw_get_reg));
	unw.getcontext = (__typeof__(unw.getcontext))(uintptr_t)dlsym(lib, "_Ux86_64_getcontext");
	if (!unw.step || !unw.get_reg || !unw.getcontext)
		unw.init_local = NULL;
	unw_first();
}

/* --- walking --- */

static uint64_t word_at(uint64_t address)
{
	return *(const volatile uint64_t *)(uintptr_t)address;
}

static void push(struct walk *w, uint64_t slot, uint64_t pc)
{
	w->steady = w->steady && slot && word_at(slot) == pc;
	w->slot[w->n] = slot;
	w->pc[w->n++] = pc;
}

/* Walks with libunwind. The frames below the callback's are left out. */
static void walk_unwind(struct walk *w, uint64_t frame)
{
	unw_context_t context;
	unw_cursor_t cursor;
	unw_word_t pc, sp;
	*w = (struct walk){.steady = true};
	if (!unw.init_local || unw.getcontext(&context) || unw.init_local(&cursor, &context))
		return;
	while (w->n < WALK_MAX && unw.step(&cursor) > 0) {
		if (unw.get_reg(&cursor, UNW_REG_IP, &pc) ||
			unw.get_reg(&cursor, UNW_REG_SP, &sp) || !pc)
			return;
		/* The x86-64 ABI: the canonical frame address is the stack pointer before the call
		 * pushed the return address. */
		if (sp - 8 > frame)
			push(w, sp - 8, pc);
	}
}

/* Walks by frame pointers. Each is checked: upwards, aligned, on the thread's stack, with a return
 * address in executable memory. */
static void walk_frame_pointers(struct walk *w, const struct thread *t, uint64_t frame)
{
	*w = (struct walk){.steady = true};
	uint64_t limit = frame + FRAME_BYTES_MAX;
	if (frame >= t->stack_low && frame < t->stack_high)
		limit = t->stack_high;
	else
		return; /* on a stack that is not the thread's own, whose size is not known */
	for (uint64_t fp = frame; w->n < WALK_MAX && fp + 16 <= limit;) {
		const uint64_t pc = word_at(fp + 8), next = word_at(fp);
		if (!mapping_find(pc))
			return;
		push(w, fp + 8, pc);
		if (next <= fp || next & 7)
			return;
		fp = next;
	}
}

/* --- new stacks --- */

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 29;
}

static int read_counters(struct dl_phdr_info *info, size_t size, void *arg)
{
	*(unsigned long long *)arg = info->dlpi_adds + info->dlpi_subs;
	return 1;
}

/* Reads the mappings again if libraries were loaded or unloaded since the last new stack. */
static void follow_libraries(void)
{
	unsigned long long now = 0;
	dl_iterate_phdr(read_counters, &now);
	unsigned long long before = atomic_exchange(&libraries, now);
	if (before == now)
		return;
	mapping_reload();
	python_look();
	if (before)
		atomic_fetch_add(&generation, 1);
}

/* Leaves out the hidden frames; keeps at most depth frames. Sends the mappings' messages. */
static uint32_t visible(struct thread *t, const struct walk *w, uint64_t *pcs, uint32_t depth)
{
	uint32_t n = 0;
	for (unsigned i = 0; i < w->n && n < depth; i++) {
		const struct mapping *m = mapping_find(w->pc[i] - 1);
		if (!m)
			break;
		if (m->hidden)
			continue;
		mapping_send(t, m);
		pcs[n++] = w->pc[i];
	}
	return n;
}

static uint32_t define(struct thread *t, const uint64_t *pcs, uint32_t n)
{
	uint64_t h = mix(t->number, n);
	for (uint32_t i = 0; i < n; i++)
		h = mix(h, pcs[i]);
	h |= 1; /* the map has no key 0 */
	uint32_t id = (uint32_t)map_get(&known, h);
	if (id)
		return id;
	const uint32_t size = (uint32_t)(sizeof(struct tsdb_msg_stack) + n * 8);
	struct tsdb_msg_stack *msg = ring_reserve(&t->ring, size, true);
	if (!msg)
		return 0;
	id = atomic_fetch_add(&next_id, 1);
	*msg = (struct tsdb_msg_stack){
		.head = {.size = size, .type = TSDB_MSG_STACK}, .id = id, .n = n};
	memcpy(msg->pcs, pcs, n * 8);
	ring_commit(&t->ring, size);
	if (map_put(&known, h, id))
		agent_count_lost();
	return id;
}

/* --- remembering --- */

static uint32_t *root_of(struct memo *m, uint64_t frame)
{
	return &m->root[(frame >> 4 ^ frame >> 14) % ROOTS];
}

/* A node's first child. The nodes of a path were mostly made one after the other, so the next one
 * is a good guess: the processor goes on with it without waiting for the load, and the loads of
 * many frames overlap. (The asm hides from the compiler that the result is the child in both
 * cases.) */
static inline uint32_t child_of(const struct memo *m, uint32_t i)
{
	const uint32_t child = m->node[i].child;
	uint32_t guess = i + 1;
	if (__builtin_expect(child != guess, 0)) {
		guess = child;
		__asm__ volatile("" : "+r"(guess));
	}
	return guess;
}

/* hint: what the call is about. Calls of one frame are often about several kernels in turns. */
static struct flat *flat_of(struct memo *m, uint64_t frame, uint32_t hint)
{
	return &m->flat[(frame >> 4 ^ frame >> 10 ^ hint) % FLATS];
}

static bool flat_is_now(const struct flat *f, uint64_t frame)
{
	uint64_t differ = f->frame ^ frame;
	if (differ)
		return false;
	for (uint32_t i = 0; i < f->n; i += FLAT_STEP)
		differ |= (word_at(f->at[i].slot) ^ f->at[i].pc) |
			  (word_at(f->at[i + 1].slot) ^ f->at[i + 1].pc) |
			  (word_at(f->at[i + 2].slot) ^ f->at[i + 2].pc) |
			  (word_at(f->at[i + 3].slot) ^ f->at[i + 3].pc);
	return f->n && !differ;
}

static __attribute__((noinline)) void flat_keep(
	struct flat *f, const struct memo *m, const struct thread *t, uint64_t frame, uint32_t leaf)
{
	uint32_t n = 0;
	for (uint32_t i = leaf; i; i = m->node[i].parent, n++)
		if (m->node[i].slot <= frame || m->node[i].slot > t->stack_high - 8)
			return;
	const uint32_t whole = (n + FLAT_STEP - 1) / FLAT_STEP * FLAT_STEP;
	if (!n || whole > FLAT_MAX || frame < t->stack_low || frame >= t->stack_high)
		return;
	for (uint32_t i = leaf, at = n; at; i = m->node[i].parent)
		f->at[--at].slot = m->node[i].slot, f->at[at].pc = m->node[i].pc;
	for (uint32_t at = n; at < whole; at++)
		f->at[at] = f->at[n - 1];
	f->frame = frame;
	f->leaf = leaf;
	f->n = whole;
}

/* The node at which the path ends, or 0: not seen before. */
static uint32_t recall(struct memo *m, uint64_t frame)
{
	uint32_t i = *root_of(m, frame);
	while (i && (m->node[i].slot != frame + 8 || m->node[i].pc != word_at(frame + 8)))
		i = m->node[i].sibling;
	while (i && !m->node[i].id) {
		i = child_of(m, i);
		while (i && word_at(m->node[i].slot) != m->node[i].pc)
			i = m->node[i].sibling;
	}
	return i;
}

static void forget(struct memo *m, uint32_t depth, uint32_t now)
{
	memset(m->root, 0, sizeof(m->root));
	if (m->nmixed)
		memset(m->mixed, 0, sizeof(m->mixed));
	m->nmixed = 0;
	for (unsigned i = 0; i < FLATS; i++)
		m->flat[i].n = 0;
	m->used = 1;
	m->depth = depth;
	m->generation = now;
}

/* Returns the path's last node, or 0 if it cannot be kept. */
static uint32_t remember(struct memo *m, uint64_t frame, const struct walk *w, uint32_t id)
{
	uint32_t *link = root_of(m, frame), parent = 0;
	if (!w->n || !w->steady || w->slot[0] != frame + 8)
		return 0;
	if (m->used + w->n > NODES) {
		forget(m, m->depth, m->generation);
		link = root_of(m, frame);
	}
	for (unsigned d = 0; d < w->n; d++) {
		uint32_t i = *link;
		while (i && (m->node[i].slot != w->slot[d] || m->node[i].pc != w->pc[d]))
			i = m->node[i].sibling;
		if (!i) {
			i = m->used++;
			m->node[i] = (struct node){.slot = w->slot[d],
				.pc = w->pc[d],
				.sibling = *link,
				.parent = parent};
			*link = i;
		}
		if (m->node[i].id)
			return i; /* a shorter path of the same frames */
		if (d + 1 == w->n)
			m->node[i].id = id;
		link = &m->node[i].child;
		parent = i;
	}
	return parent;
}

/* Repeats the walk that was kept as the path to a node. */
static void walk_again(const struct memo *m, uint32_t leaf, struct walk *w)
{
	*w = (struct walk){.steady = true};
	for (uint32_t i = leaf; i && w->n < WALK_MAX; i = m->node[i].parent)
		w->n++;
	unsigned at = w->n;
	for (uint32_t i = leaf; i && at; i = m->node[i].parent) {
		w->slot[--at] = m->node[i].slot;
		w->pc[at] = m->node[i].pc;
	}
}

static bool shows_program(const struct walk *w)
{
	for (unsigned i = 0; i < w->n; i++) {
		const struct mapping *m = mapping_find(w->pc[i] - 1);
		if (m && !m->hidden)
			return true;
	}
	return false;
}

static void walk_new(struct thread *t, uint64_t frame, struct walk *w)
{
	walk_unwind(w, frame);
	if (!shows_program(w))
		walk_frame_pointers(w, t, frame);
}

static __attribute__((noinline)) uint32_t take_new(struct thread *t, uint64_t frame, uint32_t depth)
{
	struct walk w;
	uint64_t pcs[TSDB_STACK_MAX];
	walk_new(t, frame, &w);
	const uint32_t n = visible(t, &w, pcs, depth);
	const uint32_t id = n ? define(t, pcs, n) : 0;
	if (id)
		(void)remember(t->memo, frame, &w, id);
	return id;
}

/* --- with Python frames --- */

static struct mixed *find_mixed(struct memo *m, uint64_t key)
{
	for (uint64_t i = key >> 20;; i++) {
		struct mixed *x = &m->mixed[i % MIXED];
		if (x->key == key || !x->key)
			return x;
	}
}

static void keep_mixed(struct memo *m, uint64_t key, uint32_t id)
{
	if (m->nmixed >= MIXED / 2) {
		memset(m->mixed, 0, sizeof(m->mixed));
		m->nmixed = 0;
	}
	struct mixed *x = find_mixed(m, key);
	m->nmixed += !x->key;
	*x = (struct mixed){.key = key, .id = id};
}

struct weave {
	const struct python_step *step;
	unsigned n, at;
	uint64_t *pcs;
	uint32_t count, depth;
};

/* The anchor of the next group. */
static uint64_t group_anchor(const struct weave *v)
{
	for (unsigned i = v->at; i < v->n; i++)
		if (v->step[i].anchor)
			return v->step[i].anchor;
	return UINT64_MAX;
}

static void add_group(struct weave *v)
{
	bool last = false;
	while (v->at < v->n && !last) {
		const struct python_step *s = &v->step[v->at++];
		if (s->pc && v->count < v->depth)
			v->pcs[v->count++] = s->pc;
		last = s->anchor != 0;
	}
}

/* Puts each group of Python frames before the native frame that runs it: the one whose callee's and
 * own return addresses are below and above the group's anchor. */
static uint32_t weave(struct thread *t, const struct walk *w, struct weave *v)
{
	bool native = true;
	for (unsigned i = 0; i < w->n && v->count < v->depth; i++) {
		/* The size of the last frame is not known: the remaining groups come after it. */
		const uint64_t end = i + 1 < w->n ? w->slot[i + 1] : w->slot[i];
		while (v->at < v->n && group_anchor(v) < end)
			add_group(v);
		const struct mapping *m = native ? mapping_find(w->pc[i] - 1) : NULL;
		native = native && m;
		if (!m || m->hidden || v->count == v->depth)
			continue;
		mapping_send(t, m);
		v->pcs[v->count++] = w->pc[i];
	}
	while (v->at < v->n)
		add_group(v);
	return v->count;
}

static __attribute__((noinline)) uint32_t take_mixed(
	struct thread *t, uint64_t frame, uint32_t depth, uint32_t leaf, uint64_t hash)
{
	struct walk w;
	struct python_step step[PYTHON_FRAMES_MAX];
	uint64_t pcs[TSDB_STACK_MAX];
	if (leaf) {
		walk_again(t->memo, leaf, &w);
	} else {
		walk_new(t, frame, &w);
		leaf = remember(t->memo, frame, &w, LATER);
	}
	struct weave v = {.step = step,
		.n = python_stack_take(t, step, PYTHON_FRAMES_MAX),
		.pcs = pcs,
		.depth = depth};
	const uint32_t n = weave(t, &w, &v);
	const uint32_t id = n ? define(t, pcs, n) : 0;
	if (id && leaf)
		keep_mixed(t->memo, mix(leaf, hash) | 1, id);
	return id;
}

/* Takes a stack without Python frames by a path that was kept for stacks with them. */
static __attribute__((noinline)) uint32_t take_plain(
	struct thread *t, uint32_t leaf, uint32_t depth)
{
	struct walk w;
	uint64_t pcs[TSDB_STACK_MAX];
	walk_again(t->memo, leaf, &w);
	const uint32_t n = visible(t, &w, pcs, depth);
	const uint32_t id = n ? define(t, pcs, n) : 0;
	if (id)
		t->memo->node[leaf].id = id;
	return id;
}

static __attribute__((noinline)) uint32_t take_python(
	struct thread *t, uint64_t frame, uint32_t depth, uint32_t leaf)
{
	const uint64_t hash = python_stack_hash();
	if (!hash) {
		const uint32_t id = leaf ? t->memo->node[leaf].id : 0;
		return !leaf	     ? take_new(t, frame, depth)
		       : id == LATER ? take_plain(t, leaf, depth)
				     : id;
	}
	const struct mixed *x = leaf ? find_mixed(t->memo, mix(leaf, hash) | 1) : NULL;
	return x && x->key ? x->id : take_mixed(t, frame, depth, leaf, hash);
}

static inline uint32_t leaf_of(struct thread *t, uint64_t frame, uint32_t hint)
{
	struct flat *f = flat_of(t->memo, frame, hint);
	if (__builtin_expect(flat_is_now(f, frame), 1))
		return f->leaf;
	const uint32_t leaf = recall(t->memo, frame);
	if (leaf)
		flat_keep(f, t->memo, t, frame, leaf);
	return leaf;
}

uint32_t stack_take(struct thread *t, const void *at, uint32_t depth, uint32_t hint)
{
	const uint64_t frame = (uint64_t)(uintptr_t)at;
	const uint32_t now = atomic_load_explicit(&generation, memory_order_relaxed);
	if (!depth || depth > TSDB_STACK_MAX)
		depth = TSDB_STACK_MAX;
	if (__builtin_expect(!t->memo, 0)) {
		t->memo = agent_map(sizeof(struct memo));
		if (!t->memo)
			return 0;
		forget(t->memo, depth, now);
	}
	if (__builtin_expect(t->memo->depth != depth || t->memo->generation != now, 0))
		forget(t->memo, depth, now);
	const uint32_t leaf = leaf_of(t, frame, hint);
	if (__builtin_expect(!leaf, 0))
		follow_libraries(); /* this may find an interpreter */
	if (__builtin_expect(atomic_load_explicit(&python_here, memory_order_acquire), 0))
		return take_python(t, frame, depth, leaf);
	return __builtin_expect(leaf != 0, 1) ? t->memo->node[leaf].id : take_new(t, frame, depth);
}

void stack_forget(struct thread *t)
{
	agent_unmap(t->memo, sizeof(struct memo));
	t->memo = NULL;
}
