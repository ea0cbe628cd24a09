# SPDX-License-Identifier: Apache-2.0
"""What is wrong in each program of this folder, and what is only slow. Written from the programs' sources, never from what `why` said of them.

STUCK: the culprit is what must be among the nodes of the cycle, or the leaf, that `why` names; the edge is the one without which the sentence would explain nothing:
who waits for what. Both are patterns of the form "kind: regular expression", for a node's kind and name as in `why --json` (a kind may be a|b).
The verdict is "stuck", but for a thread that polls, which could stop polling: there the leaf must be named, and "open" is the verdict.
late: the edge for a program that tsdb attached to late, where what is queued behind the heads of streams was never recorded.
inside: the edge for one that was attached to late and looked into by cuda-gdb, which sees kernels in flight, not streams. The verdict may be "open" then.
BUSY: `why` must not call it stuck, at any moment."""
import collections

Stuck = collections.namedtuple('Stuck', 'program case kind culprit edge verdict late inside', defaults=('stuck', None, None))
Busy = collections.namedtuple('Busy', 'program case kind')

GPU, HOST, RANKS, PYTHON, BUSY_PYTHON = 'stuck_gpu', 'stuck_host', 'ranks', 'stuck_python.py', 'busy_python.py'
ANY = ''  # any name
WAITS, SETS = r'command: wait_flag', r'command: set_flag'
VALUE, THREAD, LOCK, CONDITION, PROCESS = 'value: ', 'thread: ', 'lock: ', 'condition: ', 'process: '

STUCK = [
    # A stream waits for a value in memory.
    Stuck(GPU, 'value_never_written', 'value that nobody writes', VALUE, ('stream|command: ', VALUE)),
    Stuck(GPU, 'values_in_a_circle', 'values in a circle', VALUE, (VALUE, 'stream|command: ')),
    # Events.
    Stuck(GPU, 'event_behind_value', 'event behind what does not end', VALUE, ('stream|command: ', 'event: '), late=('stream: ', 'stream: ')),
    Stuck(GPU, 'event_polled', 'event behind what does not end', VALUE, ('stream|command: ', VALUE), 'open'),
    Stuck(GPU, 'event_never_recorded', 'event never recorded', CONDITION, (THREAD, CONDITION)),
    # Kernels that spin.
    Stuck(GPU, 'pinned_never_written', 'pinned flag never written', WAITS, (WAITS, VALUE)),
    Stuck(GPU, 'flag_never_written', 'flag on the device never written', WAITS, (WAITS, VALUE)),
    Stuck(GPU, 'setter_behind_event', 'spinning kernel behind its setter', WAITS, (VALUE, SETS), late=(WAITS, VALUE)),
    Stuck(GPU, 'setter_on_the_same_stream', 'spinning kernel behind its setter', WAITS, (VALUE, SETS), late=(WAITS, VALUE)),
    Stuck(GPU, 'setter_on_the_legacy_stream', 'legacy default stream', WAITS, ('command: set_flag', 'stream|command: '),
          late=('stream: ', 'stream: '), inside=(WAITS, VALUE)),
    Stuck(GPU, 'copy_on_the_legacy_stream', 'legacy default stream', WAITS, (THREAD, 'stream|command: ')),
    Stuck(GPU, 'grid_does_not_fit', 'kernels that do not fit', 'command: meet_all', ('command: meet_all', 'value|command: ')),
    Stuck(GPU, 'two_kernels_do_not_fit', 'kernels that do not fit', 'command: (left|right)_half',
          ('command: (left|right)_half', 'value|command: ')),
    # Host functions and callbacks.
    Stuck(GPU, 'host_function_waits_for_its_stream', 'host function that waits for its stream', 'condition|command|thread: ',
          ('command|thread|stream: ', CONDITION)),
    Stuck(GPU, 'host_function_needs_a_mutex', 'host function that needs a lock', LOCK, (LOCK, THREAD)),
    Stuck(GPU, 'callback_calls_cuda', 'callback that calls CUDA', 'thread|command|stream: ', ('command|thread: ', THREAD)),
    # The rest of CUDA.
    Stuck(GPU, 'free_waits_for_a_kernel', 'cudaFree against a spinning kernel', WAITS, (THREAD, 'stream|command: ')),
    Stuck(GPU, 'graph_edge_the_wrong_way', 'graph edge', 'command: ', ('stream|thread|command: ', 'command: ')),
    Stuck(GPU, 'graph_host_node_needs_a_mutex', 'graph edge', LOCK, (LOCK, THREAD)),
    Stuck(GPU, 'communicators_in_opposite_orders', 'communicators in opposite orders', 'command: all_reduce', ('command: all_reduce', 'value|command: ')),
    Stuck(GPU, 'join_of_a_thread_that_waits', 'thread that is joined', VALUE, (THREAD, THREAD)),
    # Locks and conditions.
    Stuck(HOST, 'mutexes_in_opposite_orders', 'futex', LOCK, (LOCK, THREAD)),
    Stuck(HOST, 'mutex_of_a_thread_that_waits_for_the_gpu', 'futex', WAITS, (LOCK, THREAD)),
    Stuck(HOST, 'lock_of_a_writer_that_waits_for_the_gpu', 'reader-writer lock', WAITS, (LOCK, THREAD)),
    Stuck(HOST, 'condition_of_a_thread_that_waits_for_the_gpu', 'condition variable', VALUE, (THREAD, CONDITION)),
    # Files and processes.
    Stuck(HOST, 'pipes_both_read', 'pipe', 'file|process|thread: ', ('file: ', 'process|thread: ')),
    Stuck(HOST, 'pipe_full', 'pipe', 'file|process|thread: ', ('file: ', 'process|thread: ')),
    Stuck(HOST, 'socket_of_a_child_that_waits_for_the_gpu', 'socket', WAITS, ('file: ', 'process|thread: ')),
    Stuck(HOST, 'child_that_waits_for_the_gpu', 'child process', WAITS, (THREAD, PROCESS)),
    Stuck(HOST, 'file_lock', 'file lock', 'lock|process|thread: ', ('lock: ', 'process|thread: ')),
    # Ranks.
    Stuck(RANKS, 'opposite_orders', 'communicators in opposite orders', 'command|collective: .*all_reduce', ('command|rank|collective: ', 'rank|collective: ')),
    Stuck(RANKS, 'missing', 'rank that is missing', 'rank|process: ', ('collective|command: .*all_reduce', 'rank: ')),
    Stuck(RANKS, 'dead', 'rank that is missing', 'rank|process: ', ('collective|command: .*all_reduce', 'rank|process: ')),
    # Python.
    Stuck(PYTHON, 'gil_held_while_the_gpu_is_waited_for', 'GIL', WAITS, ('gil: ', THREAD)),
    Stuck(PYTHON, 'host_function_needs_the_gil', 'GIL', 'gil: ', ('gil: ', THREAD)),
    Stuck(PYTHON, 'locks_in_opposite_orders', 'Python lock', 'thread|condition|lock: ', (THREAD, 'condition|lock: ')),
]

BUSY = [
    Busy('busy', 'long_kernel', 'kernel that moves'),
    Busy('busy', 'many_blocks', 'kernel that moves'),
    Busy('busy', 'writes_as_it_goes', 'kernel that moves'),
    Busy('busy', 'waits_beside_a_writer', 'kernel that moves'),
    Busy('busy', 'kernels_take_turns', 'kernels that hand a number to and fro'),
    Busy('busy', 'setter_later_by_the_host', 'spinning kernel whose setter comes later'),
    Busy('busy', 'setter_later_by_a_stream', 'spinning kernel whose setter comes later'),
    Busy('busy', 'flag_that_was_reset', 'wait that is over, whose flag was reset'),
    Busy('busy', 'flag_reset_by_the_kernel', 'wait that is over, whose flag was reset'),
    Busy('busy', 'value_later_by_the_host', 'value that is written later'),
    Busy('busy', 'value_later_by_a_stream', 'value that is written later'),
    Busy('busy', 'stream_polled', 'polling'),
    Busy('busy', 'event_polled_slowly', 'polling'),
    Busy('busy', 'big_copies', 'big copies'),
    Busy('busy', 'graphs_in_a_loop', 'graphs'),
    Busy('busy', 'allocates_and_frees', 'calls that wait for the device, often'),
    Busy('busy', 'compiles', 'compile storm'),
    Busy('busy', 'slow_producer', 'slow host'),
    Busy('busy', 'slow_host_functions', 'slow host functions'),
    Busy('busy', 'host_functions_that_compute', 'slow host functions'),
    Busy('busy', 'waits_for_a_producer', 'condition variable'),
    Busy('busy', 'pool_of_idle_threads', 'idle threads'),
    Busy('busy', 'contended_mutex', 'contended lock'),
    Busy('busy', 'timed_condition', 'condition variable with a time'),
    Busy('busy', 'join_of_a_thread_that_computes', 'thread that is joined'),
    Busy('busy', 'server_waits_for_a_client', 'server'),
    Busy('busy', 'server_polls', 'server'),
    Busy('busy', 'sleeps', 'sleep'),
    Busy('busy', 'waits_for_input', 'standard input'),
    Busy('busy', 'waits_for_a_signal', 'signal'),
    Busy('busy', 'slow_child', 'pipe of a slow child'),
    Busy('busy', 'busy_child', 'child that works'),
    Busy(RANKS, 'late_rank', 'rank that is late'),
    Busy(RANKS, 'very_late_rank', 'rank that is late'),
    Busy(RANKS, 'many_collectives', 'collectives'),
    Busy(BUSY_PYTHON, 'threads_contend_for_the_gil', 'GIL'),
    Busy(BUSY_PYTHON, 'queue_with_a_slow_worker', 'Python queue'),
]
