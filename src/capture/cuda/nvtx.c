/* SPDX-License-Identifier: Apache-2.0
 *
 * NVTX marks and ranges. The header-only NVTX in the program loads the library that
 * NVTX_INJECTION64_PATH names and calls its InitializeInjectionNvtx2() at the first NVTX call,
 * which may come before cuInit(). It hands out a table of pointers to its function pointers, which
 * we set.
 */
#include <nvtx3/nvToolsExt.h>
#include <stdatomic.h>
#include <string.h>
#include "capture/core/agent.h"
#include "capture/core/mark.h"

/* Registered strings: the handle returned is the address of a copy. A program registers one for
 * each place in its source, so a fixed table is enough; when it is full, further strings have no
 * name. */
enum { REGISTERED_MAX = 1024, REGISTERED_TEXT = 128 };
static AGENT_KEPT char registered[REGISTERED_MAX][REGISTERED_TEXT];
static AGENT_KEPT _Atomic unsigned registered_count;

static nvtxStringHandle_t NVTX_API register_string(nvtxDomainHandle_t domain, const char *text)
{
	unsigned i = atomic_load_explicit(&registered_count, memory_order_relaxed);
	do {
		if (i >= REGISTERED_MAX)
			return NULL;
	} while (!atomic_compare_exchange_weak_explicit(
		&registered_count, &i, i + 1, memory_order_relaxed, memory_order_relaxed));
	strncpy(registered[i], text ? text : "", REGISTERED_TEXT - 1);
	return (nvtxStringHandle_t)registered[i];
}

static const char *registered_text(nvtxStringHandle_t handle)
{
	const uintptr_t at = (uintptr_t)handle - (uintptr_t)registered;
	return at < sizeof(registered) && at % REGISTERED_TEXT == 0
		       ? registered[at / REGISTERED_TEXT]
		       : "";
}

/* Wide strings are ignored. */
static const char *text_of(const nvtxEventAttributes_t *a)
{
	if (a && a->messageType == NVTX_MESSAGE_TYPE_REGISTERED)
		return registered_text(a->message.registered);
	return a && a->messageType == NVTX_MESSAGE_TYPE_ASCII ? a->message.ascii : "";
}

static void NVTX_API mark_ex(const nvtxEventAttributes_t *a)
{
	mark_say(MARK_POINT, text_of(a), false);
}

static void NVTX_API mark_ascii(const char *text)
{
	mark_say(MARK_POINT, text, false);
}

/* These return the depth of the range, from 0, or a negative number when it is not known
 * (nvToolsExt.h). */
static int NVTX_API push_ex(const nvtxEventAttributes_t *a)
{
	mark_say(MARK_PUSH, text_of(a), false);
	return -1;
}

static int NVTX_API push_ascii(const char *text)
{
	mark_say(MARK_PUSH, text, false);
	return -1;
}

static int NVTX_API pop(void)
{
	mark_say(MARK_POP, NULL, false);
	return -1;
}

static void NVTX_API domain_mark(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *a)
{
	mark_say(MARK_POINT, text_of(a), false);
}

static int NVTX_API domain_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t *a)
{
	mark_say(MARK_PUSH, text_of(a), false);
	return -1;
}

static int NVTX_API domain_pop(nvtxDomainHandle_t domain)
{
	mark_say(MARK_POP, NULL, false);
	return -1;
}

#define SET(table, size, id, fn)                                                                   \
	do {                                                                                       \
		if ((id) < (size) && (table)[id])                                                  \
			*(table)[id] = (NvtxFunctionPointer)(fn);                                  \
	} while (0)

AGENT_PUBLIC int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table);
int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_table)
{
	NvtxFunctionTable table = NULL;
	unsigned int size = 0;
	const NvtxExportTableCallbacks *callbacks =
		get_table ? get_table(NVTX_ETID_CALLBACKS) : NULL;
	if (!callbacks || callbacks->struct_size < sizeof(*callbacks) || agent_open())
		return 0;
	if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &table, &size)) {
		SET(table, size, NVTX_CBID_CORE_MarkEx, mark_ex);
		SET(table, size, NVTX_CBID_CORE_MarkA, mark_ascii);
		SET(table, size, NVTX_CBID_CORE_RangePushEx, push_ex);
		SET(table, size, NVTX_CBID_CORE_RangePushA, push_ascii);
		SET(table, size, NVTX_CBID_CORE_RangePop, pop);
	}
	if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &table, &size)) {
		SET(table, size, NVTX_CBID_CORE2_DomainMarkEx, domain_mark);
		SET(table, size, NVTX_CBID_CORE2_DomainRangePushEx, domain_push);
		SET(table, size, NVTX_CBID_CORE2_DomainRangePop, domain_pop);
		SET(table, size, NVTX_CBID_CORE2_DomainRegisterStringA, register_string);
	}
	return 1;
}
