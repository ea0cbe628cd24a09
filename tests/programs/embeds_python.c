/* SPDX-License-Identifier: Apache-2.0
 *
 * A program that starts CUDA, launches, and only then loads a Python (argv[1]: libpython3.N.so)
 * privately, as plugins do: RTLD_LOCAL. Python code launches on the main thread and, through a C
 * callback, on a thread that Python did not make.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static const char ptx[] =
	".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry before() { ret; }\n"
	".visible .entry embedded() { ret; }\n.visible .entry foreign() { ret; }\n.visible .entry after() { ret; }\n";
static void *cuda, *python, *ctx, *kernels[4];

#define CALL(lib, result, name, types, ...)                                                        \
	({                                                                                         \
		result(*call_) types;                                                              \
		*(void **)&call_ = dlsym(lib, #name);                                              \
		if (!call_) {                                                                      \
			fprintf(stderr, "no %s\n", #name);                                         \
			exit(1);                                                                   \
		}                                                                                  \
		call_(__VA_ARGS__);                                                                \
	})
#define CUDA(name, types, ...)                                                                     \
	do {                                                                                       \
		int r = CALL(cuda, int, name, types, __VA_ARGS__);                                 \
		if (r) {                                                                           \
			fprintf(stderr, "%s: error %d\n", #name, r);                               \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

static __attribute__((noinline)) void embeds_launch(int i)
{
	CUDA(cuCtxSetCurrent, (void *), ctx);
	CUDA(cuLaunchKernel, (void *, int, int, int, int, int, int, int, void *, void *, void *),
		kernels[i], 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
}

static void *foreign(void *arg)
{
	int state = CALL(python, int, PyGILState_Ensure, (void));

	CALL(python, int, PyRun_SimpleStringFlags, (const char *, void *), "on_foreign_thread()\n",
		NULL);
	CALL(python, void, PyGILState_Release, (int), state);
	return arg;
}

/* struct PyMethodDef, and METH_NOARGS. Extension modules do not find a private interpreter's
 * symbols, so the functions are given to it. */
struct method {
	const char *name;
	void *(*function)(void *self, void *args);
	int flags;
	const char *doc;
};

static void *none(void)
{
	return CALL(python, void *, Py_BuildValue, (const char *, ...), "");
}

static void *launch_one(void *self, void *args)
{
	embeds_launch(1);
	return none();
}

static void *launch_two(void *self, void *args)
{
	embeds_launch(2);
	return none();
}

static void give_functions(void)
{
	static struct method methods[] = {
		{"launch_one", launch_one, 4, NULL}, {"launch_two", launch_two, 4, NULL}};
	void *module = CALL(python, void *, PyImport_AddModule, (const char *), "__main__");

	for (int i = 0; i < 2; i++) {
		void *function = CALL(python, void *, PyCMethod_New,
			(struct method *, void *, void *, void *), &methods[i], NULL, NULL, NULL);

		CALL(python, int, PyObject_SetAttrString, (void *, const char *, void *), module,
			methods[i].name, function);
	}
}

static const char code[] = "def embedded():\n"
			   "    launch_one()\n" /* line 2 */
			   "def on_foreign_thread():\n"
			   "    launch_two()\n" /* line 4 */
			   "embedded()\n";

int main(int argc, char **argv)
{
	static const char *const names[] = {"before", "embedded", "foreign", "after"};
	void *module;
	pthread_t t;
	int dev;

	cuda = dlopen("libcuda.so.1", RTLD_NOW);
	if (argc < 2 || !cuda) {
		fprintf(stderr, "usage: embeds_python LIBPYTHON, where there is CUDA\n");
		return 1;
	}
	CUDA(cuInit, (unsigned), 0);
	CUDA(cuDeviceGet, (int *, int), &dev, 0);
	CUDA(cuDevicePrimaryCtxRetain, (void **, int), &ctx, dev);
	CUDA(cuCtxSetCurrent, (void *), ctx);
	CUDA(cuModuleLoadData, (void **, const void *), &module, ptx);
	for (int i = 0; i < 4; i++)
		CUDA(cuModuleGetFunction, (void **, void *, const char *), &kernels[i], module,
			names[i]);
	embeds_launch(0);
	python = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	if (!python) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	CALL(python, void, Py_InitializeEx, (int), 0);
	give_functions();
	if (CALL(python, int, PyRun_SimpleStringFlags, (const char *, void *), code, NULL))
		return 1;
	void *saved = CALL(python, void *, PyEval_SaveThread, (void));
	if (pthread_create(&t, NULL, foreign, NULL) || pthread_join(t, NULL))
		return 1;
	CALL(python, void, PyEval_RestoreThread, (void *), saved);
	CALL(python, int, Py_FinalizeEx, (void));
	dlclose(python);
	embeds_launch(3);
	CUDA(cuCtxSynchronize, (void));
	printf("done\n");
	return 0;
}
