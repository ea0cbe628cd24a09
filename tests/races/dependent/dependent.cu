/* SPDX-License-Identifier: Apache-2.0
 *
 * The corpus of programmatic dependent launches as one program: dependent NAME [fixed]. Without arguments it lists them, as races does.
 */
#include "dependent.h"
#include "no_wait.cu"
#include "one_role_waits.cu"
#include "one_thread_waits.cu"
#include "some_blocks_wait.cu"
#include "early_metadata.cu"
#include "copied_early.cu"
#include "trigger_before_store.cu"
#include "overwritten_early.cu"
#include "counted_early.cu"
#include "scratch_reused.cu"
#include "chain_of_three.cu"
#include "middle_triggers_first.cu"
#include "two_behind.cu"
#include "never_triggers.cu"
#include "wait_by_pointer.cu"
#include "told_by_flag.cu"
#include "attribute_event.cu"
#include "captured_launch.cu"
#include "programmatic_edge.cu"

int main(int argc, char **argv)
{
	return race_main(argc, argv);
}
