/* SPDX-License-Identifier: Apache-2.0
 *
 * LD_PRELOAD=late-door.so tsdb record ...: the program runs as if no debugger were there until it
 * calls late_ready() (late.h) and for TSDB_LATE_MS milliseconds (300) after that; then it gets the
 * agent by the door that an attaching debugger uses. The way in is tested elsewhere; this is for
 * what an agent that comes late has to find.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static char agent[4096], control[4096];
static atomic_int ready;

__attribute__((visibility("default"))) void late_ready(void);

void late_ready(void)
{
	atomic_store(&ready, 1);
}

static void *open_door(void *arg)
{
	const char *text = getenv("TSDB_LATE_MS");
	const long ms = text ? atol(text) : 300;
	int (*attach)(const char *, int *);
	void *lib;

	(void)arg;
	while (!atomic_load(&ready))
		nanosleep(&(struct timespec){0, 1000000}, NULL);
	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
	lib = dlopen(agent, RTLD_NOW);
	attach = lib ? (int (*)(const char *, int *))(__UINTPTR_TYPE__)dlsym(
			       lib, "tsdb_agent_attach")
		     : NULL;
	if (!attach || attach(control, NULL))
		fprintf(stderr, "late-door: the agent did not come\n");
	return NULL;
}

__attribute__((constructor)) static void begin(void)
{
	const char *a = getenv("CUDA_INJECTION64_PATH"), *c = getenv("TSDB_CONTROL");
	pthread_t thread;

	if (!a || !c || strlen(a) >= sizeof(agent) || strlen(c) >= sizeof(control))
		return;
	strcpy(agent, a);
	strcpy(control, c);
	unsetenv("CUDA_INJECTION64_PATH");
	unsetenv("TSDB_CONTROL");
	if (!pthread_create(&thread, NULL, open_door, NULL))
		pthread_detach(thread);
}
