/* SPDX-License-Identifier: Apache-2.0
 *
 * What the replayer's process is born with: its environment, of which a trace should see nothing
 * that is the user's, and where its libraries lie.
 */
#include <stdlib.h>
#include <sys/personality.h>
#include <sys/wait.h>
#include <unistd.h>
#include "state-test.h"
#include "replay/client/device-private.h"

extern char **environ;

static const char *in(char **env, const char *name)
{
	const size_t n = strlen(name);
	const char *found = NULL;

	for (size_t i = 0; env[i]; i++)
		if (strncmp(env[i], name, n) == 0 && env[i][n] == '=') {
			assert_null(found); /* the first of two would count */
			found = env[i] + n + 1;
		}
	return found;
}

static void is_in(char **env, const char *name, const char *value)
{
	const char *found = in(env, name);

	if (!found != !value || (found && strcmp(found, value) != 0))
		fail_msg("%s is %s, not %s", name, found ? found : "not there",
			value ? value : "to be left out");
}

static void a_users_environment(void)
{
	clearenv();
	setenv("HOME", "/home/user", 1);
	setenv("AWS_SECRET", "x", 1);
	setenv("TSDB_COLOR", "never", 1);
	setenv("TSDB", "1", 1);
	setenv("CUDA_VISIBLE_DEVICES", "1", 1);
	setenv("NVIDIA_TF32_OVERRIDE", "0", 1);
	setenv("LANG", "C", 1);
	setenv("LANGUAGE", "de", 1);
	setenv("LC_ALL", "C.UTF-8", 1);
	setenv("TZ", "UTC", 1);
	setenv("LD_LIBRARY_PATH", "/opt/cuda/lib", 1);
	setenv("LD_PRELOAD", "/lib/other.so", 1);
	setenv("CUDA_INJECTION64_PATH", "/lib/agent.so", 1);
	setenv("CUDA_INJECTION32_PATH", "/lib/agent.so", 1);
	setenv("CUDA_CACHE_PATH", "/home/user/.nv", 1);
	setenv("CUDA_CACHE_DISABLE", "0", 1);
	setenv(REPLAYER_FD_ENV, "77", 1);
}

static void in_the_sandbox(void **unused)
{
	static char *none[] = {NULL}; /* it is the environment until the next test */
	struct device d = {.fd = -1};
	char **env;

	(void)unused;
	a_users_environment();
	env = device_child_env(&d, 5);
	is_in(env, "TSDB_COLOR", "never");
	is_in(env, "CUDA_VISIBLE_DEVICES", "1");
	is_in(env, "NVIDIA_TF32_OVERRIDE", "0");
	is_in(env, "LANG", "C");
	is_in(env, "LC_ALL", "C.UTF-8");
	is_in(env, "TZ", "UTC");
	is_in(env, "LD_LIBRARY_PATH", "/opt/cuda/lib");
	is_in(env, "CUDA_CACHE_DISABLE", "1");
	is_in(env, REPLAYER_FD_ENV, "5");
	is_in(env, "TSDB", NULL); /* TSDB_* begins with TSDB_ */
	is_in(env, "LANGUAGE", NULL);
	is_in(env, "HOME", NULL);
	is_in(env, "AWS_SECRET", NULL);
	is_in(env, "LD_PRELOAD", NULL);
	is_in(env, "CUDA_INJECTION64_PATH", NULL);
	is_in(env, "CUDA_INJECTION32_PATH", NULL);
	is_in(env, "CUDA_CACHE_PATH", NULL);
	device_child_env_free(env);
	environ = none;
	env = device_child_env(&d, 0);
	is_in(env, REPLAYER_FD_ENV, "0");
	is_in(env, "CUDA_CACHE_DISABLE", "1");
	assert_null(env[2]);
	device_child_env_free(env);
}

static void without_a_sandbox(void **unused)
{
	struct device d = {.fd = -1, .no_sandbox = true};
	char **env;

	(void)unused;
	a_users_environment();
	env = device_child_env(&d, 12);
	is_in(env, "HOME", "/home/user");
	is_in(env, "LD_PRELOAD", "/lib/other.so");
	is_in(env, "CUDA_CACHE_PATH", "/home/user/.nv");
	is_in(env, "CUDA_CACHE_DISABLE", "0");
	is_in(env, REPLAYER_FD_ENV, "12");
	device_child_env_free(env);
}

/* The software GPU's libraries come before any others. */
static void on_the_software_gpu(void **unused)
{
	char softgpu[] = "/usr/lib/softgpu";

	(void)unused;
	for (int bare = 0; bare < 2; bare++) {
		struct device d = {.fd = -1, .softgpu = softgpu, .no_sandbox = bare};
		char **env;

		a_users_environment();
		env = device_child_env(&d, 5);
		is_in(env, "LD_LIBRARY_PATH", "/usr/lib/softgpu:/opt/cuda/lib");
		device_child_env_free(env);
		setenv("LD_LIBRARY_PATH", "", 1);
		env = device_child_env(&d, 5);
		is_in(env, "LD_LIBRARY_PATH", "/usr/lib/softgpu");
		device_child_env_free(env);
		unsetenv("LD_LIBRARY_PATH");
		env = device_child_env(&d, 5);
		is_in(env, "LD_LIBRARY_PATH", "/usr/lib/softgpu");
		device_child_env_free(env);
	}
}

/* Runs in a child: the personality is the process's. */
static int layout_after(unsigned attempt, unsigned long was)
{
	const pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (!pid) {
		if (personality(was) == -1)
			_exit(2);
		device_child_layout(attempt);
		const unsigned long now = (unsigned long)personality(0xffffffff);
		const bool random = !(now & ADDR_NO_RANDOMIZE), compat = now & ADDR_COMPAT_LAYOUT;

		_exit(!random ? 3 : compat);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

/* Below where programs have their libraries for two attempts, then as usual; never where it was
 * the last time, as a debugger's children are. */
static void one_layout_for_each_attempt(void **unused)
{
	static const int compat[] = {1, 1, 0, 0, 1};

	(void)unused;
	if (layout_after(0, 0) == 2) {
		print_message("# personality() is forbidden here\n");
		return;
	}
	for (unsigned i = 0; i < 5; i++) {
		assert_int_equal(layout_after(i, 0), compat[i]);
		assert_int_equal(layout_after(i, ADDR_NO_RANDOMIZE), compat[i]);
		assert_int_equal(
			layout_after(i, ADDR_NO_RANDOMIZE | ADDR_COMPAT_LAYOUT), compat[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(in_the_sandbox),
		cmocka_unit_test(without_a_sandbox), cmocka_unit_test(on_the_software_gpu),
		cmocka_unit_test(one_layout_for_each_attempt)};

	/* cmocka asks the environment, which the tests change, how to print */
	cmocka_set_message_output(
		getenv("CMOCKA_MESSAGE_OUTPUT") ? CM_OUTPUT_TAP : CM_OUTPUT_STDOUT);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
