/* SPDX-License-Identifier: Apache-2.0
 *
 * Stack walks, remembered. The way from the application to our callback leads through CUPTI, the driver and the runtime,
 * which have no frame pointers, so a first walk takes libunwind. It also tells in which stack slot each return address
 * lies. Such paths are kept in a tree: when the callback is entered with the same stack pointer, and the first slot holds the
 * same return address, then the next slot is where it was, and so on up: a walk is one load and one compare per frame.
 * (A function that calls alloca() moves the slots above it; then a compare fails and the walk is made anew.)
 */
#include "capture/stack.h"

#include <dlfcn.h>
#include <link.h>
#define UNW_LOCAL_ONLY
#include <libunwind.h>
#include <string.h>
#include "capture/agent.h"
#include "capture/mapping.h"
#include "capture/map.h"
#include "capture/thread.h"

#define NODES (1u << 16)
#define ROOTS 1024u
#define WALK_MAX (TSDB_STACK_MAX + 32) /* the hidden frames come on top */
#define FRAME_BYTES_MAX (16u << 20)    /* a frame pointer that jumps farther is not one */

struct node {
	uint64_t slot, pc;
	uint32_t sibling, child; /* indices; 0: none */
	uint32_t id;		 /* not 0: the path ends here */
	uint32_t pad;
};
struct memo {
	uint32_t used, depth, generation;
	uint32_t root[ROOTS];
	struct node node[NODES]; /* 0 is not used */
};
struct walk {
	unsigned n;
	bool steady; /* every slot holds its return address */
	uint64_t slot[WALK_MAX], pc[WALK_MAX];
};

/* libunwind is opened, not linked: the agent must load into programs whose machine lacks it. */
static struct {
	__typeof__(&unw_init_local) init_local;
	__typeof__(&unw_step) step;
	__typeof__(&unw_get_reg) get_reg;
	int (*getcontext)(unw_tdep_context_t *);
} unw;
static _Atomic uint32_t next_id = 1;
static _Atomic uint32_t generation; /* rises when a library was unloaded: pcs may mean something else */
static _Atomic unsigned long long libraries;
static struct map known; /* hash of (thread, pcs) -> id */

#define STRINGIFY(x) #x
#define SYMBOL(x) STRINGIFY(x)

void stack_init(void)
{
	void *lib = dlopen("libunwind.so.8", RTLD_NOW | RTLD_LOCAL);
	if (!lib)
		return;
	unw.init_local = (__typeof__(unw.init_local))(uintptr_t)dlsym(lib, SYMBOL(unw_init_local));
	unw.step = (__typeof__(unw.step))(uintptr_t)dlsym(lib, SYMBOL(unw_step));
	unw.get_reg = (__typeof__(unw.get_reg))(uintptr_t)dlsym(lib, SYMBOL(unw_get_reg));
	unw.getcontext = (__typeof__(unw.getcontext))(uintptr_t)dlsym(lib, "_Ux86_64_getcontext");
	if (!unw.step || !unw.get_reg || !unw.getcontext)
		unw.init_local = NULL;
}

/* ---- walking ------------------------------------------------------------------------------------------------------- */

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

/* With libunwind. The frames below the callback's are left out. */
static void walk_unwind(struct walk *w, uint64_t frame)
{
	unw_context_t context;
	unw_cursor_t cursor;
	unw_word_t pc, sp;
	*w = (struct walk){ .steady = true };
	if (!unw.init_local || unw.getcontext(&context) || unw.init_local(&cursor, &context))
		return;
	while (w->n < WALK_MAX && unw.step(&cursor) > 0) {
		if (unw.get_reg(&cursor, UNW_REG_IP, &pc) || unw.get_reg(&cursor, UNW_REG_SP, &sp) || !pc)
			return;
		/* The x86-64 ABI: the canonical frame address is the stack pointer before the call pushed the return address. */
		if (sp - 8 > frame)
			push(w, sp - 8, pc);
	}
}

/* By frame pointers, each checked: upwards, aligned, on the thread's stack, a return address in executable memory. */
static void walk_frame_pointers(struct walk *w, const struct thread *t, uint64_t frame)
{
	*w = (struct walk){ .steady = true };
	uint64_t limit = frame + FRAME_BYTES_MAX;
	if (frame >= t->stack_low && frame < t->stack_high)
		limit = t->stack_high;
	else
		return; /* on a stack that is not the thread's own: how far it reaches cannot be told */
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

/* ---- new stacks ----------------------------------------------------------------------------------------------------- */

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

/* Libraries came or went since the last new stack: the mappings are read anew. */
static void follow_libraries(void)
{
	unsigned long long now = 0;
	dl_iterate_phdr(read_counters, &now);
	unsigned long long before = atomic_exchange(&libraries, now);
	if (before == now)
		return;
	mapping_reload();
	if (before)
		atomic_fetch_add(&generation, 1);
}

/* Leaves the hidden frames out; at most depth frames. The mappings' messages are sent. */
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
	*msg = (struct tsdb_msg_stack){ .head = { .size = size, .type = TSDB_MSG_STACK }, .id = id, .n = n };
	memcpy(msg->pcs, pcs, n * 8);
	ring_commit(&t->ring, size);
	if (map_put(&known, h, id))
		agent_count_lost();
	return id;
}

/* ---- remembering ----------------------------------------------------------------------------------------------------- */

static uint32_t *root_of(struct memo *m, uint64_t frame)
{
	return &m->root[(frame >> 4 ^ frame >> 14) % ROOTS];
}

/* The path's id, or 0: not seen before. */
static uint32_t recall(struct memo *m, uint64_t frame)
{
	uint32_t i = *root_of(m, frame);
	while (i && (m->node[i].slot != frame + 8 || m->node[i].pc != word_at(frame + 8)))
		i = m->node[i].sibling;
	while (i && !m->node[i].id) {
		i = m->node[i].child;
		while (i && word_at(m->node[i].slot) != m->node[i].pc)
			i = m->node[i].sibling;
	}
	return i ? m->node[i].id : 0;
}

static void forget(struct memo *m, uint32_t depth, uint32_t now)
{
	memset(m->root, 0, sizeof(m->root));
	m->used = 1;
	m->depth = depth;
	m->generation = now;
}

static void remember(struct memo *m, uint64_t frame, const struct walk *w, uint32_t id)
{
	uint32_t *link = root_of(m, frame);
	if (!w->n || !w->steady || w->slot[0] != frame + 8)
		return;
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
			m->node[i] = (struct node){ .slot = w->slot[d], .pc = w->pc[d], .sibling = *link };
			*link = i;
		}
		if (m->node[i].id)
			return; /* a shorter path of the same frames */
		if (d + 1 == w->n)
			m->node[i].id = id;
		link = &m->node[i].child;
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

static __attribute__((noinline)) uint32_t take_new(struct thread *t, uint64_t frame, uint32_t depth)
{
	struct walk w;
	uint64_t pcs[TSDB_STACK_MAX];
	follow_libraries();
	walk_unwind(&w, frame);
	if (!shows_program(&w))
		walk_frame_pointers(&w, t, frame);
	const uint32_t n = visible(t, &w, pcs, depth);
	const uint32_t id = n ? define(t, pcs, n) : 0;
	if (id)
		remember(t->memo, frame, &w, id);
	return id;
}

uint32_t stack_take(struct thread *t, const void *at, uint32_t depth)
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
	uint32_t id = recall(t->memo, frame);
	return __builtin_expect(id != 0, 1) ? id : take_new(t, frame, depth);
}

void stack_forget(struct thread *t)
{
	agent_unmap(t->memo, sizeof(struct memo));
	t->memo = NULL;
}
