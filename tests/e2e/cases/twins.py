# SPDX-License-Identifier: Apache-2.0
"""One suite, two vendors: tests of CUDA programs, with the same programs compiled as HIP, on the software AMD GPU. A test that needs a
program without a twin, or a program of the toolkit, is not in the list."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import check  # noqa: E402
import explore  # noqa: E402
import graphs  # noqa: E402
import marks  # noqa: E402
import nan  # noqa: E402
import numeric  # noqa: E402
import planted  # noqa: E402
import replay  # noqa: E402
import sandbox  # noqa: E402
from e2e import BUILD, Skip  # noqa: E402

CASES = {
    replay: ['json', 'json_tells_where_the_time_went', 'step_and_look', 'watch', 'who_wrote', 'diff', 'what_if', 'logical_when_asked',
             'parts', 'two_windows', 'a_position_has_the_same_bytes', 'memory_is_the_same_however_one_gets_there'],
    check: ['deterministic_kernels', 'float_atomics_in_another_order', 'findings_that_are_alike_are_one', 'one_kernel_is_checked'],
    graphs: ['info_graph', 'info_graph_at_a_stop', 'steps_of_a_launch', 'steps_without_a_device', 'who_wrote_inside_needs_a_device',
             'a_step_is_one_command_when_asked', 'stops_at_nodes', 'every_step_equals_the_whole'],
    explore: ['missing_wait', 'demo_race'],
    marks: ['a_recording_has_them', 'windows_each_in_a_trace_of_its_own', 'a_recording_up_to_the_trigger', 'windows_in_a_session'],
    nan: ['on_either_machine'],
    numeric: ['matters', 'matters_in_chaos'],
    sandbox: ['a_replayer_that_was_taken_over_is_shut_in'],
}


def as_hip(case):
    def run(t):
        if not os.path.exists(os.path.join(BUILD, 'softamd', 'libhsakmt.so.1')):
            raise Skip('tsdb was built without HIP')
        if not os.path.exists(os.path.join(BUILD, 'tests', 'programs', 'hip', 'twin', 'vecadd')):
            raise Skip('no hipcc')
        t.gpu = 'soft-amd'
        case(t)
    return run


for module, names in CASES.items():
    for name in names:
        globals()[f'test_{module.__name__}_{name}'] = as_hip(getattr(module, 'test_' + name))


def symbol(t):
    for v in ('base', 'global'):
        planted.record(t, 'numbers', v, f'numbers-{v}', True)
    planted.check_numbers(t, next(r for r in planted.NUMBERS if r[1] == 'global'))


def test_planted_symbol(t):
    """A variable that the program writes: its address in the replay is another one than in the recording."""
    as_hip(symbol)(t)


def test_graphs_by_chance(t):
    """In one queue of the device: over several, HIP 5.2.3 itself loses dependencies of graphs with many branches, and no run is like another."""
    os.environ['GPU_MAX_HW_QUEUES'] = '1'
    try:
        as_hip(graphs.test_graphs_by_chance)(t)
    finally:
        del os.environ['GPU_MAX_HW_QUEUES']
