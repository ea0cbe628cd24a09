# SPDX-License-Identifier: Apache-2.0
#
# The replayer as it would be if a trace had taken it over: tsdb-replayer's own objects, and attacks.c, which is called before each command. Never
# installed.

dist_noinst_SCRIPTS += tests/sandbox/attack
EXTRA_DIST += tests/sandbox/attacks.c
if HAVE_CUDA
check_PROGRAMS += tests/sandbox/replayer-under-attack
tests_sandbox_replayer_under_attack_SOURCES = tests/sandbox/attacks.c
tests_sandbox_replayer_under_attack_CFLAGS = $(tsdb_replayer_CFLAGS) -Wno-missing-prototypes
tests_sandbox_replayer_under_attack_LDFLAGS = $(tsdb_replayer_LDFLAGS) -Wl,--wrap=watch_before -Wl,--wrap=sandbox_lock
tests_sandbox_replayer_under_attack_LDADD = $(tsdb_replayer_OBJECTS) $(tsdb_replayer_LDADD)
EXTRA_tests_sandbox_replayer_under_attack_DEPENDENCIES = tsdb-replayer
endif
