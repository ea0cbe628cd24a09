/* SPDX-License-Identifier: Apache-2.0
 *
 * What a module's code is, by its first bytes. For every room, the agent and the software GPU too:
 * nothing here allocates or calls anything but libc. AMD's objects and SPIR-V are known by sight;
 * nothing runs them yet.
 */
#ifndef GPUCODE_CODE_KIND_H
#define GPUCODE_CODE_KIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum code_kind { CODE_PTX, CODE_CUBIN, CODE_FATBIN, CODE_AMD_OBJECT, CODE_SPIRV, CODE_UNKNOWN };

/* Text, up to a NUL or the first 16 bytes. */
static inline bool code_is_text(const unsigned char *p, size_t n)
{
	size_t i;

	for (i = 0; i < n && i < 16 && p[i]; i++)
		if (p[i] < ' ' && !strchr("\t\n\v\f\r", p[i]))
			return false;
	return i > 0;
}

/* Reads 20 bytes at most. Text counts as PTX: comments may come first. Of an ELF file of which less
 * than 20 bytes are there, or which names no machine that is known, a cubin is assumed. */
static inline enum code_kind code_kind_of(const void *code, size_t n)
{
	enum { AMD = 224 }; /* EM_AMDGPU (elf.h), at byte 18 */
	const unsigned char *p = (const unsigned char *)code;

	if (n >= 4 && !memcmp(p, "\177ELF", 4))
		return n >= 20 && (p[18] | p[19] << 8) == AMD ? CODE_AMD_OBJECT : CODE_CUBIN;
	if (n >= 4 && !memcmp(p, "\x50\xed\x55\xba", 4))
		return CODE_FATBIN;
	if (n >= 4 && (!memcmp(p, "\x03\x02\x23\x07", 4) ||
			      !memcmp(p, "\x07\x23\x02\x03", 4))) /* either byte order */
		return CODE_SPIRV;
	return code_is_text(p, n) ? CODE_PTX : CODE_UNKNOWN;
}

/* Of code about which a trace or another process said only whether it is PTX. */
static inline enum code_kind code_kind_said(bool is_ptx, const void *code, size_t n)
{
	const enum code_kind kind = code_kind_of(code, n);

	return is_ptx ? CODE_PTX : kind == CODE_PTX ? CODE_UNKNOWN : kind;
}

#endif
