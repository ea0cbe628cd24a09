/* SPDX-License-Identifier: Apache-2.0
 *
 * Code images. An image is PTX text, a fat binary or the wrapper that nvcc puts around one; its
 * length is not known, so only what headers promise is read. A program of relocatable device code
 * (nvcc -rdc=true) has a wrapper around machine code that was linked, and with it a list of the fat
 * binaries that it was linked from: their PTX is linked here.
 */
#include "softgpu/driver/drv.h"
#include "gpucode/code-kind.h"
#include "gpucode/fatbin-text.h"
#include "gpucode/fatbin.h"
#include "softgpu/ptx/ptx-merge.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_FILE ((size_t)1 << 31)
#define MAX_PARTS 65536u /* fat binaries that one program was linked from */
#define CURE "build with -gencode arch=compute_75,code=compute_75"

static CUresult no_ptx(void)
{
	drv_say("this code was built for GPUs of NVIDIA's only and holds no PTX; " CURE);
	return CUDA_ERROR_NO_BINARY_FOR_GPU;
}

static CUresult answer(enum fatbin_result r, const char *why)
{
	switch (r) {
	case FATBIN_OK:
		return CUDA_SUCCESS;
	case FATBIN_NO_MEMORY:
		return CUDA_ERROR_OUT_OF_MEMORY;
	case FATBIN_NO_PTX:
		return no_ptx();
	default:
		drv_say("malformed fat binary: %s", why);
		return CUDA_ERROR_INVALID_IMAGE;
	}
}

static CUresult image_from_fatbin(const void *image, size_t limit, char **text, size_t *size)
{
	size_t n = limit == SIZE_MAX ? fatbin_size(image) : limit;
	const char *why = "";

	return answer(fatbin_ptx(image, n, device_cc(), text, size, &why), why);
}

/* Links the texts and frees them. */
static CUresult link_parts(struct ptx_input *in, unsigned n, char **text, size_t *size)
{
	char why[512];
	unsigned i;
	CUresult r;

	*text = n ? ptx_merge(in, n, size, why, sizeof(why)) : NULL;
	r = *text ? CUDA_SUCCESS : ptx_failure();
	for (i = 0; i < n; i++)
		free((char *)in[i].text);
	if (!n)
		return no_ptx();
	if (r)
		drv_say("linking the program's device code: %s", why);
	return r;
}

/*
 * The fat binaries that a program was linked from. Those of NVIDIA's libraries may hold machine
 * code only; what such a part would define is missed by name where it is used.
 */
static CUresult image_from_parts(const void *const *parts, char **text, size_t *size)
{
	struct ptx_input *in;
	unsigned n = 0, i;
	CUresult r = CUDA_SUCCESS;

	while (n < MAX_PARTS && parts[n])
		n++;
	in = calloc(n + 1, sizeof(*in));
	if (!in)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (i = n = 0; i < MAX_PARTS && parts[i] && r == CUDA_SUCCESS; i++) {
		enum fatbin_result f = FATBIN_MALFORMED;
		const char *why = "a part that the program was linked from has no header";
		char *part = NULL;

		if (fatbin_is(parts[i]))
			f = fatbin_ptx(
				parts[i], fatbin_size(parts[i]), device_cc(), &part, size, &why);
		if (f == FATBIN_OK)
			in[n++] = (struct ptx_input){"a part of the program", part};
		else if (f != FATBIN_NO_PTX)
			r = answer(f, why);
	}
	if (r == CUDA_SUCCESS) {
		r = link_parts(in, n, text, size);
	} else {
		for (i = 0; i < n; i++)
			free((char *)in[i].text);
	}
	free(in);
	return r;
}

/* What nvcc's start-up code registers. */
static CUresult image_from_wrapper(const void *wrapper, char **text, size_t *size)
{
	const void *const *parts = fatbin_parts(wrapper);
	const void *inner = fatbin_unwrap(wrapper);
	const char *why = "";

	if (!parts)
		return image_from_fatbin(inner, SIZE_MAX, text, size);
	const enum fatbin_result f =
		fatbin_ptx(inner, fatbin_size(inner), device_cc(), text, size, &why);
	return f == FATBIN_NO_PTX ? image_from_parts(parts, text, size) : answer(f, why);
}

CUresult image_to_ptx(const void *image, size_t limit, char **text, size_t *size)
{
	const char *p = image;
	const enum code_kind kind =
		limit < 4 ? CODE_UNKNOWN : code_kind_of(p, 4); /* the length is often not known */
	const void *inner;

	if (limit < 4)
		return CUDA_ERROR_INVALID_IMAGE;
	if (kind == CODE_CUBIN) {
		drv_say("a cubin holds code for NVIDIA's GPUs only; " CURE
			", or have NVRTC make PTX: --gpu-architecture=compute_75, nvrtcGetPTX");
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	}
	if (kind == CODE_FATBIN)
		return image_from_fatbin(p, limit, text, size);
	if (limit == SIZE_MAX && (inner = fatbin_unwrap(p)) && fatbin_is(inner))
		return image_from_wrapper(p, text, size);
	if (kind == CODE_PTX) {
		*size = strnlen(p, limit == SIZE_MAX ? MAX_FILE : limit);
		*text = malloc(*size + 1);
		if (!*text)
			return CUDA_ERROR_OUT_OF_MEMORY;
		memcpy(*text, p, *size);
		(*text)[*size] = '\0';
		return CUDA_SUCCESS;
	}
	return CUDA_ERROR_INVALID_IMAGE;
}

static bool read_all(int fd, char *data, size_t n)
{
	size_t at = 0;
	ssize_t got;

	while (at < n) {
		got = read(fd, data + at, n - at);
		if (got <= 0)
			return false;
		at += (size_t)got;
	}
	return true;
}

CUresult image_from_file(const char *path, char **data, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	CUresult r = CUDA_ERROR_INVALID_IMAGE;
	struct stat st;

	*data = NULL;
	if (fd < 0)
		return CUDA_ERROR_FILE_NOT_FOUND;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode) || st.st_size <= 0 ||
		(size_t)st.st_size > MAX_FILE)
		goto out;
	*data = malloc((size_t)st.st_size + 1);
	r = CUDA_ERROR_OUT_OF_MEMORY;
	if (!*data)
		goto out;
	r = CUDA_ERROR_INVALID_IMAGE;
	if (!read_all(fd, *data, (size_t)st.st_size))
		goto out;
	(*data)[st.st_size] = '\0';
	*size = (size_t)st.st_size;
	r = CUDA_SUCCESS;
out:
	close(fd);
	if (r != CUDA_SUCCESS)
		free(*data);
	return r;
}
