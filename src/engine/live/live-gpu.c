/* SPDX-License-Identifier: Apache-2.0
 *
 * Which device the live program gets.
 */
#include <stdlib.h>
#include <unistd.h>
#include "engine/live/live-private.h"
#include "engine/parts.h"
#include "symbols/elf-facts.h"

static struct err *check_soft(const char *path, const struct program_facts *facts)
{
	char *dir = gpu_soft_dir();

	if (!dir)
		return err_cure(err_new(ERR_UNSUPPORTED, "the software GPU is not installed"),
			"Build tsdb where the CUDA toolkit's headers are; \"tsdb doctor\" says more");
	free(dir);
	if (facts->static_cudart)
		return err_cure(
			err_new(ERR_UNSUPPORTED,
				"%s has a statically linked CUDA runtime, which cannot use the software GPU",
				path),
			"Link it with `nvcc -cudart shared`");
	return NULL;
}

static struct err *check_soft_amd(void)
{
	char *dir = gpu_soft_amd_dir();

	if (!dir)
		return err_cure(err_new(ERR_UNSUPPORTED, "the software AMD GPU is not installed"),
			"Build tsdb where HIP's headers are (scripts/setup installs them); \"tsdb doctor\" says more");
	free(dir);
	return NULL;
}

enum { AUTO, SOFT, REAL, SOFT_AMD }; /* the values of `set gpu` */

/* For a program that is linked with HIP. */
static struct err *choose_amd(struct engine *en)
{
	const bool driver = access("/dev/kfd", F_OK) == 0;

	if (en->set.number[SET_GPU] == REAL && !driver)
		return err_cure(
			err_new(ERR_STATE, "there is no AMD driver on this machine (/dev/kfd)"),
			"Use --gpu soft-amd, or `set gpu soft-amd`");
	if (driver)
		return NULL;
	TRY(check_soft_amd());
	en->live.soft_amd = true;
	if (!en->live.soft_told)
		live_tell_text(en, LIVE_NOTE_SOFT_AMD, NULL);
	en->live.soft_told = true;
	return NULL;
}

struct err *live_choose_gpu(
	struct engine *en, const char *path, const struct program_facts *facts, bool *ret_soft)
{
	bool driver = gpu_has_driver();

	en->live.soft_amd = en->set.number[SET_GPU] == SOFT_AMD;
	if (facts->needs_hip && !facts->needs_libcuda && !facts->needs_libcudart &&
		(en->set.number[SET_GPU] == AUTO || en->set.number[SET_GPU] == REAL)) {
		*ret_soft = false;
		return choose_amd(en);
	}
	switch (en->set.number[SET_GPU]) {
	case SOFT_AMD:
		*ret_soft = false;
		return check_soft_amd();
	case REAL:
		*ret_soft = false;
		if (!driver)
			return err_cure(
				err_new(ERR_STATE, "there is no NVIDIA driver on this machine"),
				"Use --gpu soft, or `set gpu soft`");
		return NULL;
	case SOFT:
		*ret_soft = true;
		return check_soft(path, facts);
	default:
		*ret_soft = !driver;
		if (driver)
			return NULL;
		TRY(check_soft(path, facts));
		if (!en->live.soft_told)
			live_tell_text(en, LIVE_NOTE_SOFT, NULL);
		en->live.soft_told = true;
		return NULL;
	}
}
