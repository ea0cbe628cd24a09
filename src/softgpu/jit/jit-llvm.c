/* SPDX-License-Identifier: Apache-2.0
 *
 * The compiler plugin's one door: LLVM, set up for this processor, and compile(). Nothing is
 * relaxed: no fast-math, no contraction. A fatal error inside LLVM would end the program that runs
 * the kernels; here it ends compiling instead, for good.
 */
#include "softgpu/jit/jit-int.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/ErrorHandling.h>
#include <llvm-c/LLJIT.h>
#include <llvm-c/Orc.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT __attribute__((visibility("default")))

static struct {
	const struct ptx_jit_host *host;
	LLVMOrcLLJITRef jit;
	LLVMTargetMachineRef tm;
	char *cpu, *features;
	unsigned names;
	bool broken, inside;
	jmp_buf out;
	char why[160];
} ll;

#if !defined(__SANITIZE_ADDRESS__)
/*
 * Stands before libc's for LLVM and libstdc++, which are loaded with RTLD_DEEPBIND: nothing that
 * they own is destroyed at exit. LLVM registers some of its destructors at their objects' first
 * use, later than anything could be registered that waits for the thread which uses them.
 */
DEFAULT int __cxa_atexit(void (*fn)(void *), void *arg, void *dso);
int __cxa_atexit(void (*fn)(void *), void *arg, void *dso)
{
	return 0;
}
#endif

static void on_fatal(const char *reason)
{
	snprintf(ll.why, sizeof(ll.why), "LLVM: %.140s", reason);
	ll.broken = true;
	if (ll.inside)
		longjmp(ll.out, 1);
}

/* Takes the error. */
static bool failed(LLVMErrorRef err, char *buf, size_t n)
{
	char *text;

	if (!err)
		return false;
	text = LLVMGetErrorMessage(err);
	snprintf(buf, n, "LLVM: %.150s", text);
	LLVMDisposeErrorMessage(text);
	return true;
}

static LLVMTargetMachineRef new_machine(const char *triple, char *buf, size_t n)
{
	LLVMTargetRef target;
	char *text = NULL;

	if (LLVMGetTargetFromTriple(triple, &target, &text)) {
		snprintf(buf, n, "LLVM: %.150s", text);
		LLVMDisposeMessage(text);
		return NULL;
	}
	return LLVMCreateTargetMachine(target, triple, ll.cpu, ll.features, LLVMCodeGenLevelDefault,
		LLVMRelocStatic, LLVMCodeModelJITDefault);
}

static bool set_up(char *buf, size_t n)
{
	const char *cpu =
		getenv("TSDB_SOFT_JIT_CPU"); /* for tests: another processor's instructions */
	LLVMOrcLLJITBuilderRef b = LLVMOrcCreateLLJITBuilder();
	char *triple = LLVMGetDefaultTargetTriple(), *host_cpu = LLVMGetHostCPUName(),
	     *features = LLVMGetHostCPUFeatures();
	LLVMTargetMachineRef for_jit;

	ll.cpu = cpu ? strdup(cpu) : host_cpu;
	ll.features = cpu ? strdup("") : features;
	ll.tm = new_machine(triple, buf, n);
	for_jit = new_machine(triple, buf, n);
	LLVMDisposeMessage(triple);
	if (!ll.tm || !for_jit)
		return false;
	LLVMOrcLLJITBuilderSetJITTargetMachineBuilder(
		b, LLVMOrcJITTargetMachineBuilderCreateFromTargetMachine(for_jit));
	return !failed(LLVMOrcCreateLLJIT(&ll.jit, b), buf, n);
}

/* --- one region --- */
static void optimise(LLVMModuleRef m, char *buf, size_t n)
{
	LLVMPassBuilderOptionsRef o = LLVMCreatePassBuilderOptions();
	const char *passes = getenv("TSDB_SOFT_JIT_PASSES");

	LLVMPassBuilderOptionsSetLoopUnrolling(o, false);
	LLVMPassBuilderOptionsSetLoopVectorization(o, false);
	LLVMPassBuilderOptionsSetSLPVectorization(o, false);
	failed(LLVMRunPasses(m,
		       passes ? passes
			      : "function(sroa,early-cse<memssa>,instcombine,simplifycfg,loop-mssa(licm),gvn,instcombine,simplifycfg)",
		       ll.tm, o),
		buf, n);
	LLVMDisposePassBuilderOptions(o);
}

static bool is_sound(LLVMModuleRef m, char *buf, size_t n)
{
	char *text = NULL;
	bool bad = LLVMVerifyModule(m, LLVMReturnStatusAction, &text);

	if (bad)
		snprintf(buf, n, "bad code: %.150s", text);
	LLVMDisposeMessage(text);
	return !bad;
}

/* TSDB_SOFT_JIT_DUMP=ir|asm, on stderr. */
static void show(LLVMModuleRef m)
{
	const char *what = getenv("TSDB_SOFT_JIT_DUMP");
	LLVMMemoryBufferRef buf;
	LLVMModuleRef copy;
	char *text = NULL;

	if (!what)
		return;
	if (strcmp(what, "asm")) {
		text = LLVMPrintModuleToString(m);
		fputs(text, stderr);
		LLVMDisposeMessage(text);
		return;
	}
	copy = LLVMCloneModule(m);
	if (!LLVMTargetMachineEmitToMemoryBuffer(ll.tm, copy, LLVMAssemblyFile, &text, &buf)) {
		fwrite(LLVMGetBufferStart(buf), 1, LLVMGetBufferSize(buf), stderr);
		LLVMDisposeMemoryBuffer(buf);
	}
	LLVMDisposeModule(copy);
}

#if LLVM_VERSION_MAJOR >= 21
static LLVMOrcThreadSafeContextRef new_context(LLVMContextRef *ret)
{
	*ret = LLVMContextCreate();
	return LLVMOrcCreateNewThreadSafeContextFromLLVMContext(*ret);
}
#else
static LLVMOrcThreadSafeContextRef new_context(LLVMContextRef *ret)
{
	LLVMOrcThreadSafeContextRef c = LLVMOrcCreateNewThreadSafeContext();

	*ret = LLVMOrcThreadSafeContextGetContext(c);
	return c;
}
#endif

static ptx_jit_code *build(const struct jit_region *r, void **handle, char *buf, size_t n)
{
	struct jit_emit e = {.r = r, .host = ll.host};
	LLVMOrcThreadSafeContextRef ctx = new_context(&e.c);
	LLVMOrcResourceTrackerRef rt;
	LLVMOrcExecutorAddress at = 0;
	char name[32];

	snprintf(name, sizeof(name), "region%u", ll.names++);
	e.m = LLVMModuleCreateWithNameInContext(name, e.c);
	LLVMSetTarget(e.m, LLVMOrcLLJITGetTripleString(ll.jit));
	LLVMSetDataLayout(e.m, LLVMOrcLLJITGetDataLayoutStr(ll.jit));
	e.b = LLVMCreateBuilderInContext(e.c);
	jit_emit_region(&e, name);
	LLVMDisposeBuilder(e.b);
	if (!is_sound(e.m, buf, n)) {
		show(e.m);
		LLVMDisposeModule(e.m);
		LLVMOrcDisposeThreadSafeContext(ctx);
		return NULL;
	}
	optimise(e.m, buf, n);
	show(e.m);
	rt = LLVMOrcJITDylibCreateResourceTracker(LLVMOrcLLJITGetMainJITDylib(ll.jit));
	if (failed(LLVMOrcLLJITAddLLVMIRModuleWithRT(
			   ll.jit, rt, LLVMOrcCreateNewThreadSafeModule(e.m, ctx)),
		    buf, n) ||
		failed(LLVMOrcLLJITLookup(ll.jit, &at, name), buf, n)) {
		LLVMOrcReleaseResourceTracker(rt);
		LLVMOrcDisposeThreadSafeContext(ctx);
		return NULL;
	}
	LLVMOrcDisposeThreadSafeContext(ctx);
	*handle = rt;
	return (ptx_jit_code *)(uintptr_t)at;
}

static ptx_jit_code *compile(const struct ptx_function *fn, uint32_t pc, bool full, unsigned max,
	void **handle, char *buf, size_t n)
{
	struct jit_region r;
	ptx_jit_code *volatile code = NULL;

	if (ll.broken) {
		snprintf(buf, n, "%s", ll.why);
		return NULL;
	}
	if (jit_region_choose(&r, fn, pc, full, max, buf, n)) {
		ll.inside = true;
		if (!setjmp(ll.out))
			code = build(&r, handle, buf, n);
		else
			snprintf(buf, n, "%s", ll.why);
		ll.inside = false;
	}
	jit_region_free(&r);
	return code;
}

static void drop(void *handle)
{
	LLVMErrorRef err;

	if (ll.broken)
		return;
	err = LLVMOrcResourceTrackerRemove(handle);
	if (err)
		LLVMConsumeError(err);
	LLVMOrcReleaseResourceTracker(handle);
}

static const struct ptx_jit_plugin plugin = {.abi = PTX_JIT_ABI, .compile = compile, .drop = drop};

DEFAULT ptx_jit_open tsdb_soft_jit;
const struct ptx_jit_plugin *tsdb_soft_jit(const struct ptx_jit_host *host, char *buf, size_t n)
{
	if (host->abi != PTX_JIT_ABI) {
		snprintf(buf, n, "the compiler is of another version");
		return NULL;
	}
	if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
		getenv("TSDB_SOFT_NO_AVX2")) {
		snprintf(buf, n, "compiled kernels need a processor with AVX2 and FMA");
		return NULL;
	}
	ll.host = host;
	LLVMInitializeX86TargetInfo();
	LLVMInitializeX86Target();
	LLVMInitializeX86TargetMC();
	LLVMInitializeX86AsmPrinter();
	LLVMInstallFatalErrorHandler(on_fatal);
	return set_up(buf, n) ? &plugin : NULL;
}
