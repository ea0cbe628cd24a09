/* SPDX-License-Identifier: Apache-2.0
 *
 * The state's tables against plain arrays: allocations by address, rows by id; and what clones
 * share.
 */
#include "state-test.h"
#include "state/tables/allocs.h"

/* --- a plain table of allocations --- */

#define MODEL_MAX 3000
struct model {
	struct alloc a[MODEL_MAX];
	size_t n;
};

static uint64_t dice_state;

static uint64_t dice(uint64_t below)
{
	dice_state = dice_state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (dice_state >> 33) % below;
}

static size_t model_lower(const struct model *m, uint64_t addr)
{
	size_t i = 0;

	while (i < m->n && m->a[i].addr < addr)
		i++;
	return i;
}

static const struct alloc *model_find(const struct model *m, uint64_t addr)
{
	for (size_t i = 0; i < m->n; i++)
		if (addr >= m->a[i].addr && addr - m->a[i].addr < m->a[i].size)
			return &m->a[i];
	return NULL;
}

static void same(const struct alloc *got, const struct alloc *want)
{
	assert_int_equal(got != NULL, want != NULL);
	if (!got)
		return;
	assert_true(got->addr == want->addr && got->size == want->size &&
		    got->writer == want->writer && got->certain == want->certain &&
		    got->seq == want->seq);
}

/* Its bounds and what is beside them. */
static void same_at(const struct allocs *t, const struct model *m, uint64_t addr)
{
	for (uint64_t a = addr - 2; a != addr + 3; a++) {
		size_t i = model_lower(m, a);

		same(allocs_find(t, a), model_find(m, a));
		same(allocs_find(t, a), model_find(m, a)); /* now by a hint */
		same(allocs_next(t, a), i < m->n ? &m->a[i] : NULL);
	}
}

static void same_all(struct allocs *t, const struct model *m)
{
	assert_int_equal(t->n, m->n);
	for (size_t i = 0; i < m->n; i++)
		same(allocs_get(t, i), &m->a[i]);
	assert_null(allocs_get(t, m->n));
	for (size_t i = m->n; i-- > 0;) /* not the way that is quick */
		if (i % 7 == 0)
			same(allocs_get(t, i), &m->a[i]);
	for (size_t i = 0; i < t->dir.n; i++) { /* and how it is built */
		const struct alloc_dir *d = (struct alloc_dir *)t->dir.data + i;

		assert_true(d->leaf->n > 0 && d->leaf->n <= ALLOC_LEAF);
		assert_true(d->first == d->leaf->key[0]);
	}
}

static void model_insert(struct allocs *t, struct model *m, uint64_t addr, uint64_t size)
{
	const struct alloc a = {.addr = addr, .size = size, .seq = dice(1000), .writer = dice(9)};
	size_t i = model_lower(m, addr);

	assert_true(m->n < MODEL_MAX);
	memmove(m->a + i + 1, m->a + i, (m->n - i) * sizeof a);
	m->a[i] = a;
	m->n++;
	allocs_insert(t, &a);
}

static void model_remove(struct allocs *t, struct model *m, size_t i)
{
	const uint64_t addr = m->a[i].addr;

	if (m->a[i].size > 1)
		assert_false(allocs_remove(t, addr + 1)); /* not where it begins */
	assert_true(allocs_remove(t, addr));
	assert_false(allocs_remove(t, addr));
	memmove(m->a + i, m->a + i + 1, (m->n - i - 1) * sizeof m->a[0]);
	m->n--;
}

/* Slots of 16 bytes; an allocation fills 1 to 16 of one. */
static void allocs_are_a_sorted_table(void **state)
{
	static struct model m;
	struct allocs t = {0};

	dice_state = 1;
	m.n = 0;
	assert_null(allocs_find(&t, 5));
	assert_null(allocs_next(&t, 0));
	assert_null(allocs_get(&t, 0));
	assert_false(allocs_remove(&t, 0));
	for (unsigned step = 0; step < 6000; step++) {
		/* grows, shrinks to little, grows */
		const bool grows = dice(10) < (step / 2000 % 2 ? 2 : 8);
		uint64_t addr = 4096 + 16 * dice(4000);

		if (grows && !model_find(&m, addr))
			model_insert(&t, &m, addr, 1 + dice(16));
		else if (!grows && m.n)
			model_remove(&t, &m, (size_t)dice(m.n));
		if (m.n)
			same_at(&t, &m, m.a[dice(m.n)].addr + dice(18));
		if (step % 250 == 0)
			same_all(&t, &m);
	}
	same_all(&t, &m);
	while (m.n)
		model_remove(&t, &m, m.n - 1);
	assert_int_equal(t.dir.n, 0);
	allocs_free(&t);
}

static size_t leaves_after(unsigned n, bool upwards)
{
	struct allocs t = {0};
	size_t ret;

	for (unsigned i = 0; i < n; i++) {
		const struct alloc a = {.addr = 16 * (upwards ? 1 + i : n - i), .size = 16};

		allocs_insert(&t, &a);
	}
	assert_int_equal(t.n, n);
	ret = t.dir.n;
	allocs_free(&t);
	return ret;
}

/* Addresses that only grow leave full leaves behind, others halves; and what has become nearly
 * empty is joined. */
static void leaves_are_few(void **state)
{
	struct allocs t = {0};

	assert_int_equal(leaves_after(ALLOC_LEAF, true), 1);
	assert_int_equal(leaves_after(10 * ALLOC_LEAF, true), 10);
	assert_int_equal(leaves_after(ALLOC_LEAF, false), 1);
	assert_int_equal(leaves_after(ALLOC_LEAF + 1, false), 2);
	/* each time that the first is full, its upper half is a leaf: at 65, 97, 129 ... */
	assert_int_equal(leaves_after(ALLOC_LEAF + 32, false), 2);
	assert_int_equal(leaves_after(ALLOC_LEAF + 33, false), 3);
	for (unsigned i = 0; i < 4 * ALLOC_LEAF; i++)
		allocs_insert(&t, &(struct alloc){.addr = 16 + 16 * i, .size = 1});
	for (unsigned i = 0; i < 4 * ALLOC_LEAF; i++)
		if (i % 4)
			assert_true(allocs_remove(&t, 16 + 16 * i));
	assert_int_equal(t.n, ALLOC_LEAF);
	assert_in_range(t.dir.n, 2, 3); /* 16 of each are left: two make half a leaf */
	for (unsigned i = 0; i < 4 * ALLOC_LEAF; i += 4)
		assert_non_null(allocs_find(&t, 16 + 16 * i));
	allocs_free(&t);
}

/* A clone does not see what is written to the other, and neither is copied before. */
static void clones_are_apart(void **state)
{
	static struct model m, was;
	struct allocs a = {0}, b;
	size_t alone;

	dice_state = 2;
	m.n = 0;
	for (unsigned i = 0; i < 1000; i++)
		model_insert(&a, &m, 16 + 16 * i, 16);
	alone = allocs_bytes(&a);
	assert_true(alone >= 1000 * sizeof(struct alloc));
	b = a;
	allocs_share(&b);
	assert_true(allocs_bytes(&a) < alone * 6 / 10); /* half is the clone's */
	assert_true(allocs_bytes(&a) + allocs_bytes(&b) < alone * 11 / 10);
	was = m;
	allocs_own(&a, 16 + 16 * 500)->writer = 77;
	m.a[500].writer = 77;
	assert_null(allocs_own(&a, 15));
	same_all(&a, &m);
	same_all(&b, &was);
	model_remove(&a, &m, 3);
	model_insert(&a, &m, 5, 1);
	same_all(&a, &m);
	same_all(&b, &was);
	allocs_doubt(&b, 1234);
	for (size_t i = 0; i < was.n; i++) {
		was.a[i].writer = 1234;
		was.a[i].certain = false;
	}
	same_all(&a, &m);
	same_all(&b, &was);
	allocs_free(&a);
	same_all(&b, &was);
	allocs_free(&b);
}

static void a_doubt_is_no_certainty(void **state)
{
	struct allocs t = {0};

	allocs_insert(&t, &(struct alloc){.addr = 16, .size = 8, .writer = 3, .certain = true});
	assert_true(allocs_find(&t, 16)->certain);
	allocs_doubt(&t, 9);
	assert_false(allocs_find(&t, 16)->certain);
	assert_int_equal(allocs_find(&t, 16)->writer, 9);
	allocs_free(&t);
}

/* --- tables by id --- */

struct row {
	uint32_t id, value;
};
#define IDS 200

static void check_rows(const struct vec *v, const uint32_t value[IDS])
{
	size_t n = 0;

	for (uint32_t id = 0; id < IDS; id++) {
		const struct row *r = table_find(v, sizeof *r, id);

		assert_int_equal(r != NULL, value[id] != 0);
		if (!r)
			continue;
		assert_int_equal(r->id, id);
		assert_int_equal(r->value, value[id]);
		assert_ptr_equal(r, (struct row *)v->data + n); /* in order */
		n++;
	}
	assert_int_equal(v->n, n);
	assert_null(table_find(v, sizeof(struct row), UINT32_MAX));
}

static void rows_are_found_by_id(void **state)
{
	uint32_t value[IDS] = {0}, was[IDS];
	struct vec v = {0}, clone;
	struct row *r;

	dice_state = 3;
	check_rows(&v, value);
	for (unsigned step = 0; step < 3000; step++) {
		uint32_t id = (uint32_t)dice(IDS);

		if (!value[id]) {
			r = table_insert(&v, sizeof *r, id);
			assert_int_equal(r->value, 0);
			r->value = value[id] = 1 + step;
		} else if (dice(2)) {
			table_remove(&v, sizeof *r, id);
			value[id] = 0;
		} else {
			((struct row *)table_own(&v, sizeof *r, id))->value = value[id] = 1 + step;
		}
		if (step % 50)
			continue;
		check_rows(&v, value);
		memcpy(was, value, sizeof was);
		clone = v;
		vec_share(&clone);
		assert_int_equal(vec_bytes(&clone), vec_bytes(&v));
		for (id = 0; id < IDS; id++)
			if (value[id])
				break;
		if (id < IDS) { /* written by one, not by the other */
			((struct row *)table_own(&v, sizeof *r, id))->value = value[id] = 9999999;
			table_remove(&v, sizeof *r, id);
			value[id] = 0;
		}
		check_rows(&clone, was);
		check_rows(&v, value);
		vec_free(&clone);
	}
	vec_free(&v);
	assert_int_equal(v.n, 0);
}

static void bytes_are_shared(void **state)
{
	struct vec a = {0}, b, c;
	size_t alone;

	assert_int_equal(vec_bytes(&a), 0);
	memset(vec_add(&a, 8, 100), 0, 800);
	assert_int_equal(a.n, 100);
	alone = vec_bytes(&a);
	assert_true(alone >= 800);
	b = a;
	vec_share(&b);
	c = a;
	vec_share(&c);
	assert_int_equal(vec_bytes(&b), alone / 3);
	vec_free(&c);
	assert_int_equal(vec_bytes(&b), alone / 2);
	vec_own(&b, 8);
	assert_int_equal(vec_bytes(&a), alone);
	assert_int_equal(b.n, 100);
	vec_free(&b);
	/* room for more than was asked for: rows are not moved one by one */
	assert_non_null(vec_add(&a, 8, 1));
	assert_true(vec_bytes(&a) >= alone * 14 / 10);
	alone = vec_bytes(&a);
	assert_non_null(vec_add(&a, 8, 1));
	assert_int_equal(vec_bytes(&a), alone);
	vec_free(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(allocs_are_a_sorted_table),
		cmocka_unit_test(leaves_are_few),
		cmocka_unit_test(clones_are_apart),
		cmocka_unit_test(a_doubt_is_no_certainty),
		cmocka_unit_test(rows_are_found_by_id),
		cmocka_unit_test(bytes_are_shared),
	};

	return cmocka_run_group_tests_name("state-tables", tests, NULL, NULL);
}
