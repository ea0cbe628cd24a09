/* SPDX-License-Identifier: Apache-2.0
 *
 * Known stacks for the unit tests of the room attach. Built several times: without optimisation
 * (variables), with -O2 (unwinding, inlined calls), and without debugging information (names from
 * the symbol table).
 */
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum colour { RED = 1, GREEN = 5 };
struct point {
	int x;
	double y;
	char name[8];
};
struct line {
	struct point a, *b;
	unsigned bits : 3;
};
typedef const volatile unsigned short odd;

volatile int sink;
static int how;

__attribute__((noinline)) void leaf(int code)
{
	sink = code;
	if (how == 1)
		*(volatile int *)(intptr_t)(sink & 0) = 1; /* frame 0 in our own code */
	if (how == 2)
		raise(SIGUSR1);
	abort();
}

static inline __attribute__((always_inline)) void inlined(int v)
{
	int twice = v * 2;

	leaf(twice); /* CALL-IN-INLINED */
	sink++;
}

__attribute__((noinline)) int middle(int number, const char *text, double real, struct point *where)
{
	struct line l = {{3, 1.5, "inner"}, where, 5};
	int array[12] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
	char letters[] = "a\tb\"c";
	enum colour c = GREEN;
	const unsigned long wide = 40000, wider = 0xfffffffful; /* constants in the DWARF */
	const int below = -7;
	odd u = 65535;
	float f = -0.25f;
	bool yes = true;
	int8_t small = -3;
	unsigned char ch = 'x';
	long long big = -1234567890123;
	void *nothing = NULL;

	inlined(number + array[3] + letters[0] + (int)c + u + (int)f + yes + small + ch + (int)big +
		(nothing != NULL) + (int)real + text[0] + l.a.x + (int)(wide + wider) + below);
	sink++;
	return array[number & 3];
}

/* As a C++ compiler would name demo::outer(int). */
int outer(int n) __asm__("_ZN4demo5outerEi");
__attribute__((noinline)) int outer(int n)
{
	struct point p = {1, -2.5, "pt"};
	int r;

	if (n > 0) {
		r = outer(n - 1);
		sink++;
		return r + 1;
	}
	r = middle(42, "hello", 2.5, &p);
	sink++;
	return r;
}

static void on_usr1(int sig)
{
	abort();
}

static void *thread(void *arg)
{
	usleep(50000); /* the other one is in pthread_join() by then */
	sink = outer(2);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t;

	how = argc > 1 ? atoi(argv[1]) : 0;
	signal(SIGUSR1, on_usr1);
	if (how == 3) {
		pthread_create(&t, NULL, thread, NULL);
		pthread_join(t, NULL);
	}
	sink = outer(3);
	sink++;
	return 0;
}
