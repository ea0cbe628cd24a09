/* SPDX-License-Identifier: Apache-2.0
 *
 * cuLink*: several PTX texts, from memory, files or fat binaries, linked into one, which is what
 * comes out in place of a cubin and goes into cuModuleLoadData. Objects, archives and machine code
 * are refused.
 */
#include "softgpu/driver/drv.h"
#include "softgpu/ptx/ptx-merge.h"

#include <stdlib.h>
#include <string.h>

#define MAX_INPUTS 4096u

struct link {
	struct jit_log log;
	struct ptx_input *in; /* names and texts are owned */
	unsigned n;
	char *out;
	size_t out_size;
};

static CUresult resolve(CUlinkState h, struct link **ret)
{
	if (!obj_alive(OBJ_LINK, h))
		return CUDA_ERROR_INVALID_HANDLE;
	*ret = ((struct link_handle *)h)->link;
	return CUDA_SUCCESS;
}

DRV_DEFINE(4, cuLinkCreate_v2, unsigned int, numOptions, CUjit_option *, options, void **,
	optionValues, CUlinkState *, stateOut)
{
	struct link_handle *h;
	struct ctx *c;

	REQUIRE(stateOut && (!numOptions || (options && optionValues)));
	TRY_CU(ctx_current(&c));
	h = obj_new(OBJ_LINK);
	if (!h)
		return CUDA_ERROR_OUT_OF_MEMORY;
	h->link = calloc(1, sizeof(*h->link));
	if (!h->link) {
		obj_free(OBJ_LINK, h);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	jit_log_init(&h->link->log, numOptions, options, optionValues);
	*stateOut = (CUlinkState)h;
	return CUDA_SUCCESS;
}

/* Takes text over. */
static CUresult add(struct link *l, const char *name, char *text)
{
	struct ptx_input *more =
		l->n < MAX_INPUTS ? realloc(l->in, (l->n + 1) * sizeof(*more)) : NULL;
	char *copy = strdup(name ? name : "<unnamed>");

	if (more)
		l->in = more;
	if (!more || !copy) {
		free(copy);
		free(text);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	l->in[l->n++] = (struct ptx_input){copy, text};
	return CUDA_SUCCESS;
}

static CUresult add_image(
	struct link *l, CUjitInputType type, const void *data, size_t size, const char *name)
{
	size_t n;
	char *text;

	REQUIRE(data && size && !l->out);
	switch (type) {
	case CU_JIT_INPUT_PTX:
	case CU_JIT_INPUT_FATBINARY:
		break;
	case CU_JIT_INPUT_CUBIN:
		drv_say("cuLink: a cubin holds code for NVIDIA's GPUs only");
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	case CU_JIT_INPUT_OBJECT:
	case CU_JIT_INPUT_LIBRARY:
	case CU_JIT_INPUT_NVVM:
		drv_say("cuLink: inputs of type %d (objects, libraries, NVVM) are not supported: give PTX",
			(int)type);
		return CUDA_ERROR_NOT_SUPPORTED;
	default:
		return CUDA_ERROR_INVALID_VALUE;
	}
	if (type == CU_JIT_INPUT_PTX) {
		n = strnlen(data, size);
		text = malloc(n + 1);
		if (!text)
			return CUDA_ERROR_OUT_OF_MEMORY;
		memcpy(text, data, n);
		text[n] = '\0';
	} else {
		TRY_CU(image_to_ptx(data, size, &text, &n));
	}
	return add(l, name, text);
}

DRV_DEFINE(8, cuLinkAddData_v2, CUlinkState, state, CUjitInputType, type, void *, data, size_t,
	size, const char *, name, unsigned int, numOptions, CUjit_option *, options, void **,
	optionValues)
{
	struct link *l;

	TRY_CU(resolve(state, &l));
	return add_image(l, type, data, size, name);
}

DRV_DEFINE(6, cuLinkAddFile_v2, CUlinkState, state, CUjitInputType, type, const char *, path,
	unsigned int, numOptions, CUjit_option *, options, void **, optionValues)
{
	struct link *l;
	char *data;
	size_t n;
	CUresult r;

	REQUIRE(path);
	TRY_CU(resolve(state, &l));
	TRY_CU(image_from_file(path, &data, &n));
	r = add_image(l, type, data, n, path);
	free(data);
	return r;
}

DRV_DEFINE(3, cuLinkComplete, CUlinkState, state, void **, cubinOut, size_t *, sizeOut)
{
	struct ptx_module *m;
	char why[512];
	struct link *l;
	CUresult r;

	REQUIRE(cubinOut);
	TRY_CU(resolve(state, &l));
	REQUIRE(l->n);
	if (!l->out) {
		l->out = ptx_merge(l->in, l->n, &l->out_size, why, sizeof(why));
		if (!l->out) {
			r = ptx_failure();
			drv_say("cuLink: %s", why);
			jit_log_error(&l->log, why);
			return r;
		}
		r = ptx_from_text(l->out, l->out_size, &l->log, &m);
		if (r != CUDA_SUCCESS) {
			free(l->out);
			l->out = NULL;
			return r;
		}
		ptx_free(m);
	}
	*cubinOut = l->out;
	if (sizeOut)
		*sizeOut = l->out_size;
	return CUDA_SUCCESS;
}

DRV_DEFINE(1, cuLinkDestroy, CUlinkState, state)
{
	struct link *l;
	unsigned i;

	TRY_CU(resolve(state, &l));
	for (i = 0; i < l->n; i++) {
		free((char *)l->in[i].name);
		free((char *)l->in[i].text);
	}
	free(l->in);
	free(l->out);
	free(l);
	obj_free(OBJ_LINK, state);
	return CUDA_SUCCESS;
}

/* --- CUDA 5.5's, which take what the _v2 take --- */

DRV_DEFINE(4, cuLinkCreate, unsigned int, numOptions, CUjit_option *, options, void **,
	optionValues, CUlinkState *, stateOut)
{
	return cuLinkCreate_v2(numOptions, options, optionValues, stateOut);
}

DRV_DEFINE(8, cuLinkAddData, CUlinkState, state, CUjitInputType, type, void *, data, size_t, size,
	const char *, name, unsigned int, numOptions, CUjit_option *, options, void **,
	optionValues)
{
	return cuLinkAddData_v2(state, type, data, size, name, numOptions, options, optionValues);
}

DRV_DEFINE(6, cuLinkAddFile, CUlinkState, state, CUjitInputType, type, const char *, path,
	unsigned int, numOptions, CUjit_option *, options, void **, optionValues)
{
	return cuLinkAddFile_v2(state, type, path, numOptions, options, optionValues);
}
