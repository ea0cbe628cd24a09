/* SPDX-License-Identifier: Apache-2.0
 *
 * Variables of many types, for tests/unit/test-values-gdb.py: gdb and tsdb show them at the signal
 * in check(). No addresses of the stack in arrays, whose repeats would differ.
 */
#include <complex.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <uchar.h>
#include <wchar.h>

enum colour { RED = 1, GREEN = 5, BLUE = -2 };
enum flags { READ = 1, WRITE = 2, EXECUTE = 4 };
enum sparse { NONE, MANY = 3, ALL = 12 };
enum wide { SMALL = 200, HUGE_ONE = 0x7fffffffff };
typedef unsigned char byte;
typedef const volatile unsigned short odd;
typedef struct {
	float re, im;
} pair;
typedef int (*handler)(int, const char *);
typedef double matrix[2][3];

struct point {
	int x;
	double y;
	char name[8];
};
struct list {
	struct list *next;
	int value;
};
struct bits {
	unsigned a : 3;
	int b : 5;
	unsigned long c : 40;
	_Bool d : 1;
	enum colour e : 4;
	signed char f : 2;
	unsigned : 0;
	unsigned g : 31;
};
struct __attribute__((packed)) tight {
	char c;
	int i;
	unsigned a : 7;
	unsigned long b : 60;
	short s;
};
union number {
	int i;
	float f;
	unsigned char bytes[4];
};
struct nested {
	struct point p[2];
	union {
		int tag;
		float real;
	};
	struct {
		short low, high;
	};
	struct {
		int deep[2][2];
	} inner;
	union number n;
	const struct point *where;
	handler call;
	pair pairs[3];
};
struct only_declared;
struct empty {
};

int counter = 42;
static struct point origin = {0, 0, "origin"};
static const char *words[] = {"one", "two", NULL};
static struct list third = {NULL, 3}, second = {&third, 2}, first = {&second, 1};
const char banner[] = "hello, world";
static int table[3][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}, {9, 10, 11, 12}};
static struct only_declared *hidden;
volatile int sink;
float reals[5] = {1.5f, -2.25f, 0.1f, 1e20f, 1e-20f};

static int twice(int n, const char *text)
{
	return 2 * n + (text ? 1 : 0);
}

static int variadic(const char *format, ...)
{
	return *format;
}

__attribute__((noinline)) void check(
	int number, const char *text, double real, struct point by_value, struct nested *nest)
{
	signed char sc = -3;
	char ch = 'x', zero = 0, newline = '\n', high = (char)0xe9;
	unsigned char uc = 200;
	short sh = -12345;
	unsigned short ush = 65535;
	int in = -7;
	unsigned un = 4000000000u;
	long lo = -1234567890123;
	unsigned long ulo = 0xfffffffffffffff0ul;
	long long ll = INT64_MIN;
	unsigned long long ull = UINT64_MAX;
	__int128 huge = -((__int128)1 << 100);
	unsigned __int128 uhuge = (unsigned __int128)-1;
	bool yes = true, no = false;
	float fl = -0.25f, third_of = 1.0f / 3;
	double db = 0.1, big = 1e300, nan_value = 0.0 / (sink ? 1.0 : 1e-320 * 0), inf = 1e308 * 10;
	long double ld = 1.25L;
	int8_t i8 = -8;
	uint8_t u8 = 8;
	int16_t i16 = -16;
	uint32_t u32 = 32;
	int64_t i64 = -64;
	size_t sz = sizeof(int);
	byte by = 'A';
	odd od = 4711;
	wchar_t wc = L'w';
	char16_t c16 = u'h';
	char32_t c32 = U'H';
	wchar_t wide[] = L"wide";
	char16_t wide16[] = u"text";
	enum colour c = GREEN, below = BLUE, none = (enum colour)77;
	enum flags fg = (enum flags)(READ | EXECUTE), all = (enum flags)15, nought = (enum flags)0;
	enum sparse sp = MANY, spx = (enum sparse)5;
	enum wide wi = HUGE_ONE, sm = SMALL;
	pair pr = {1.5f, -2};
	struct point pt = {3, 1.5, "inner"}, *pp = &origin, points[2] = {{1, 2, "a"}, {3, 4, "b"}};
	struct bits bf = {5, -9, 0x123456789a, 1, GREEN, -1, 0x7ffffff0};
	struct tight tg = {'c', -5, 100, 0xabcdef012345678, -2};
	struct empty em;
	union number nb = {.f = 1.0f};
	matrix mx = {{1, 2, 3}, {4, 5, 6}};
	int grid[2][2][3] = {{{1, 2, 3}, {4, 5, 6}}, {{7, 8, 9}, {10, 11, 12}}};
	int zeros[20] = {0}, mostly[30] = {1, 2}, many[300];
	int vla[number - 36];
	char letters[] = "a\tb\"c\\\1", exact[4] = {'a', 'b', 'c', 'd'}, padded[16] = "pad",
	     full[300];
	unsigned char raw[6] = {0, 1, 2, 255, 65, 66};
	signed char sraw[3] = {-1, 0, 1};
	struct point same[12] = {{0}};
	char *text_null = NULL, *volatile vp = letters;
	const char *const *cpp = words;
	void *nothing = NULL, *somewhere = &counter;
	int *pi = &counter, **ppi = &pi;
	struct list *head = &first;
	int(*row)[4] = &table[1];
	handler fn = twice;
	int (*var)(const char *, ...) = variadic;
	void (*self)(int, const char *, double, struct point, struct nested *) = check;
	int (*const handlers[2])(int, const char *) = {twice, NULL};
	struct only_declared *od_p = hidden;
	static int calls = 9;
	float *rp = &reals[1];
	const char *restrict rs = banner;
	double complex z = 1 + 2 * I;

	for (int i = 0; i < 300; i++) {
		many[i] = i / 3;
		full[i] = (char)('a' + i % 26);
	}
	for (int i = 0; i < number - 36; i++)
		vla[i] = i * i;
	memset(&em, 0, sizeof em);
	if (number) {
		int number2 = number + 1, in = 1000;

		sink = number2 + in;
		*(volatile int *)(intptr_t)(sink & 0) = 1; /* here */
	}
	sink = sc + ch + zero + newline + high + uc + sh + ush + in + (int)un + (int)lo + (int)ulo +
	       (int)ll + (int)ull + (int)huge + (int)uhuge + yes + no + (int)fl + (int)third_of +
	       (int)db + (int)big + (int)nan_value + (int)inf + (int)ld + i8 + u8 + i16 + (int)u32 +
	       (int)i64 + (int)sz + by + od + (int)wc + c16 + (int)c32 + (int)wide[0] + wide16[0] +
	       (int)c + (int)below + (int)none + (int)fg + (int)all + (int)nought + (int)sp +
	       (int)spx + (int)wi + (int)sm + (int)pr.re + pt.x + pp->x + points[0].x + (int)bf.a +
	       tg.c + nb.i + (int)mx[0][0] + grid[0][0][0] + zeros[0] + mostly[0] + many[0] +
	       vla[0] + letters[0] + exact[0] + padded[0] + full[0] + raw[0] + sraw[0] + same[0].x +
	       (text_null != NULL) + (vp != NULL) + (cpp != NULL) + (nothing != somewhere) + **ppi +
	       head->value + (*row)[0] + fn(1, text) + var("x") + (self != NULL) +
	       (handlers[0] != NULL) + (od_p != NULL) + calls++ + (int)*rp + *rs + (int)creal(z) +
	       (int)real + by_value.x + nest->tag;
}

int main(void)
{
	struct nested nest = {.p = {{1, 2.5, "first"}, {-1, -2.5, "second"}},
		.tag = 7,
		.low = 1,
		.high = -1,
		.inner = {{{1, 2}, {3, 4}}},
		.n = {.i = 1065353216},
		.where = &origin,
		.call = twice,
		.pairs = {{1, 2}, {3, 4}, {5, 6}}};

	check(42, "hello", 2.5, origin, &nest);
	return 0;
}
