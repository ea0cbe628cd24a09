/* SPDX-License-Identifier: Apache-2.0
 *
 * Shards by the environment of job engines, see names.h. Sources: sbatch(1) and srun(1), "OUTPUT
 * ENVIRONMENT VARIABLES"; qsub(1B) of OpenPBS and of Torque; LSF's reference of environment
 * variables; qsub(1) of Grid Engine; Open MPI's and MPICH's launchers; Kubernetes, "Indexed
 * completion mode". Surprise: Slurm sets SLURM_PROCID and SLURM_NTASKS in a batch script, too,
 * which runs once; only srun sets SLURM_STEP_NUM_TASKS.
 */
#include "engine/names.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "base/buf.h"
#include "base/words.h"

/* An array of jobs: its index, and what says where it begins and ends. NULL: there is none. */
struct array_engine {
	const char *name, *index;
	const char *first, *last, *step, *count;
	uint64_t first_else; /* without a variable `first` */
};
static const struct array_engine arrays[] = {
	{"Slurm", "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX",
		"SLURM_ARRAY_TASK_STEP", "SLURM_ARRAY_TASK_COUNT", 1},
	{"PBS", "PBS_ARRAY_INDEX", NULL, NULL, NULL, NULL, 1},
	{"Torque", "PBS_ARRAYID", NULL, NULL, NULL, NULL, 1},
	{"LSF", "LSB_JOBINDEX", NULL, "LSB_JOBINDEX_END", "LSB_JOBINDEX_STEP", NULL, 1},
	{"Grid Engine", "SGE_TASK_ID", "SGE_TASK_FIRST", "SGE_TASK_LAST", "SGE_TASK_STEPSIZE", NULL,
		1},
	{"Kubernetes", "JOB_COMPLETION_INDEX", NULL, NULL, NULL, NULL, 0},
};

/* Processes that one launcher starts, from 0. */
static const struct {
	const char *rank, *ranks;
} launchers[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}, {"PMIX_RANK", "PMIX_SIZE"},
	{"PMI_RANK", "PMI_SIZE"}, {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
	{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}};

static bool number(shard_variable *get, const char *name, uint64_t *ret)
{
	const char *text = name ? get(name) : NULL;

	return text && *text >= '0' && *text <= '9' && word_u64(text, ret) && *ret <= UINT32_MAX;
}

static struct err *cannot(const char *what, const char *engine, const char *cure)
{
	return err_cure(err_new(ERR_USAGE, "--shard auto: %s %s", engine, what), "%s", cure);
}

/* How many jobs the array has; 0: its engine does not say. */
static struct err *count_array(shard_variable *get, const struct array_engine *a, uint64_t first,
	uint64_t step, uint64_t *ret)
{
	uint64_t last, count;

	*ret = 0;
	if (!number(get, a->last, &last))
		return NULL;
	if (last < first || (last - first) % step)
		return cannot("numbers its jobs as no list from first to last by steps", a->name,
			"Say which shard: --shard K/N");
	*ret = (last - first) / step + 1;
	if (number(get, a->count, &count) && count != *ret)
		return cannot("runs an array with gaps, whose shards would be missing", a->name,
			"Submit all of 1-N, or say which shard: --shard K/N");
	return NULL;
}

/* n: how many the user says there are; 0: nothing was said. */
static struct err *by_array(
	shard_variable *get, const struct array_engine *a, uint64_t n, struct shard *ret)
{
	uint64_t index = 0, first = a->first_else, step = 1, count;

	(void)number(get, a->index, &index);
	(void)number(get, a->first, &first);
	if (!number(get, a->step, &step) || !step)
		step = 1;
	TRY(count_array(get, a, first, step, &count));
	if (!count && !n)
		return cannot(
			"does not say how many jobs there are", a->name, "Say it: --shard auto/N");
	if (count && n && n != count)
		return cannot("has another number of jobs than --shard says", a->name,
			"Use --shard auto");
	count = count ? count : n;
	if (index < first || (index - first) % step || (index - first) / step >= count ||
		count > SHARDS_MAX)
		return cannot("gave this job a number outside of the array", a->name,
			a->first_else ? "Number the jobs 1-N" : "Number the jobs 0 to N-1");
	*ret = (struct shard){(uint32_t)((index - first) / step + 1), (uint32_t)count};
	return NULL;
}

/* The processes of a launcher divide what their job of the array does. */
static struct err *by_launcher(shard_variable *get, struct shard *s, bool *ret_any)
{
	uint64_t rank, ranks;

	*ret_any = false;
	for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
		if (!number(get, launchers[i].rank, &rank) ||
			!number(get, launchers[i].ranks, &ranks))
			continue;
		if (rank >= ranks || ranks > SHARDS_MAX || ranks * s->n > SHARDS_MAX)
			return cannot("is no rank of so many", launchers[i].rank,
				"Say which shard: --shard K/N");
		s->k = (uint32_t)((s->k - 1) * ranks + rank + 1);
		s->n = (uint32_t)(s->n * ranks);
		*ret_any = true;
		return NULL;
	}
	return NULL;
}

static struct err *by_environment(shard_variable *get, uint64_t n, struct shard *ret)
{
	bool array = false, launcher;
	uint64_t index;

	*ret = (struct shard){1, 1};
	for (size_t i = 0; !array && i < sizeof arrays / sizeof *arrays; i++) {
		/* LSF says 0 in a job that is in no array */
		array = number(get, arrays[i].index, &index) &&
			(index || strcmp(arrays[i].name, "LSF"));
		if (array)
			TRY(by_array(get, &arrays[i], n, ret));
	}
	TRY(by_launcher(get, ret, &launcher));
	if (launcher && !array && n && n != ret->n)
		return cannot("started another number of processes than --shard says",
			"the launcher", "Use --shard auto");
	if (array || launcher)
		return NULL;
	return err_cure(err_new(ERR_USAGE,
				"--shard auto: no job's variables are set (SLURM_ARRAY_TASK_ID, "
				"PBS_ARRAY_INDEX, LSB_JOBINDEX, SGE_TASK_ID, OMPI_COMM_WORLD_RANK, "
				"JOB_COMPLETION_INDEX)"),
		"Say which shard: --shard K/N");
}

struct err *shard_parse(const char *word, shard_variable *get, struct shard *ret)
{
	uint64_t k, n = 0;
	char *slash;

	if (!strcmp(word, "auto"))
		return by_environment(get, 0, ret);
	char *head = xstrdup(word);

	slash = strchr(head, '/');
	if (slash)
		*slash++ = '\0';
	const bool good = slash && word_u64(slash, &n) && n && n <= SHARDS_MAX;
	const bool automatic = !strcmp(head, "auto");
	const bool plain = good && word_u64(head, &k) && k && k <= n;

	free(head);
	if (good && automatic)
		return by_environment(get, n, ret);
	if (!plain)
		return err_cure(err_new(ERR_USAGE, "\"%s\" is no shard", word),
			"Use K/N such as 3/8, auto, or auto/N");
	*ret = (struct shard){(uint32_t)k, (uint32_t)n};
	return NULL;
}
