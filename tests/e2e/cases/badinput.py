# SPDX-License-Identifier: Apache-2.0
"""Bad input: each ends in one clear sentence with what to do, exit status 1, nothing lost, no crash."""
import ctypes
import json
import os
import random
import struct
import subprocess

from e2e import SRC, Skip, program, tsdb_path


def a_trace(t):
    r = t.record('vecadd', out='good.sbt')
    t.equal(r.status, 0, 'recording')
    with open(t.path('good.sbt'), 'rb') as f:
        return f.read()


def put(t, name, data):
    with open(t.path(name), 'wb') as f:
        f.write(data)
    return name


def test_missing_trace(t):
    t.sentence(t.tsdb('view', 'nowhere.sbt'), r'nowhere\.sbt.*No such file')
    t.sentence(t.tsdb('info', 'nowhere.sbt'), r'nowhere\.sbt.*No such file')
    t.sentence(t.tsdb('--batch', 'nowhere.sbt'), r'nowhere\.sbt.*No such file')


def test_empty_trace(t):
    put(t, 'empty.sbt', b'')
    t.sentence(t.tsdb('view', 'empty.sbt'), r'empty')


def test_foreign_file(t):
    for name, data in {'elf.sbt': open('/bin/true', 'rb').read(), 'text.sbt': b'hello, I am no trace\n' * 100,
                       'zeros.sbt': bytes(4096)}.items():
        put(t, name, data)
        t.sentence(t.tsdb('view', name), r'not an? (SBT )?trace|no trace|not a tsdb trace')


def test_directory_as_trace(t):
    os.mkdir(t.path('d.sbt'))
    t.sentence(t.tsdb('view', 'd.sbt'), r'directory')


def test_future_version(t):
    data = bytearray(a_trace(t))
    # docs/sbt.md: the header's major version is the u16 after the 8-byte magic
    data[8:10] = struct.pack('<H', 99)
    put(t, 'future.sbt', bytes(data))
    t.sentence(t.tsdb('view', 'future.sbt'), r'version 99|newer')


def test_truncated_trace_is_used_as_far_as_it_goes(t):
    data = a_trace(t)
    whole = t.tsdb('view', '--json', 'good.sbt').out.splitlines()
    for i in range(1, 12):
        put(t, 'cut.sbt', data[:len(data) * i // 12])
        r = t.tsdb('view', '--json', 'cut.sbt')
        t.check(r.status in (0, 1), f'exit status {r.status} at cut {i}')
        t.check(r.err.strip(), f'cut {i}: nothing says that the trace is incomplete')
        lines = r.out.splitlines()
        t.equal([json.loads(x)['seq'] for x in lines], [json.loads(x)['seq'] for x in whole[:len(lines)]], f'commands at cut {i}')


def test_flipped_bits_never_crash_and_never_lie(t):
    data = a_trace(t)
    whole = set(t.tsdb('view', '--json', 'good.sbt').out.splitlines())
    rng = random.Random(5)
    for _ in range(25):
        bad = bytearray(data)
        bit = rng.randrange(len(bad) * 8)
        bad[bit // 8] ^= 1 << (bit % 8)
        put(t, 'flip.sbt', bytes(bad))
        r = t.tsdb('view', '--json', 'flip.sbt')
        t.check(r.status in (0, 1), f'bit {bit}: exit status {r.status}')
        seqs = {json.loads(x)['seq']: x for x in whole}
        for line in r.out.splitlines():
            c = json.loads(line)
            t.check(c['seq'] in seqs and json.loads(seqs[c['seq']])['kind'] == c['kind'], f'bit {bit}: a command that was never there')


def test_unknown_command_and_option(t):
    r = t.tsdb('--batch', '-ex', 'frobnicate')
    t.sentence(r, r'frobnicate')
    t.match(r'help', r.err, 'the cure')
    t.sentence(t.tsdb('--frobnicate'), r'--frobnicate')
    t.sentence(t.tsdb('view', '--frobnicate', 'x.sbt'), r'--frobnicate')
    t.sentence(t.tsdb('record', '-o'), r'-o')


def test_options_behind_a_trace(t):
    put(t, 'a.sbt', a_trace(t))
    r = t.tsdb('a.sbt', '--batch', '-ex', 'info trace')
    t.equal(r.status, 0, 'options behind the trace')
    t.check('a.sbt' in r.out, 'the command was run')
    t.sentence(t.tsdb('--batch', 'a.sbt', 'more'), r'no arguments: more')


def test_help_of_each_tool(t):
    tools = ('record', 'observe', 'view', 'merge', 'info', 'replay', 'check', 'races', 'explore', 'extract', 'demo', 'doctor')
    every = t.tsdb('--help').out
    t.equal(t.tsdb('help').out, every, 'tsdb help')
    for line in every.splitlines():
        t.check(len(line) <= 80, f'tsdb --help, more than 80 columns: {line}')
    for tool in tools:
        t.check(f'\n    {tool} ' in every, f'tsdb --help lists {tool}')
        r = t.tsdb(tool, '--help')
        t.equal(r.status, 0, f'{tool} --help')
        t.check(r.out.startswith((f'  tsdb {tool} ', f'  tsdb {tool}\n')), f'what {tool} --help says: {r.out[:60]!r}')
        for line in r.out.splitlines():
            t.check(len(line) <= 80, f'{tool} --help, more than 80 columns: {line}')


def test_a_process_and_a_program(t):
    t.sentence(t.tsdb('-p', '1', 'ls'), r'-p names has its program already: ls')


def test_ambiguous_command(t):
    r = t.tsdb('--batch', '-ex', 're')
    t.sentence(r, r'ambiguous command: re')


def test_program_that_does_not_exist(t):
    t.sentence(t.tsdb('record', '--gpu', t.gpu, '--', './nobody'), r'nobody.*(No such file|not found)')
    t.sentence(t.tsdb('record', '--gpu', t.gpu, '--', 'surely-not-in-path'), r'surely-not-in-path')


def test_program_that_is_not_executable(t):
    put(t, 'plain', b'text\n')
    t.sentence(t.tsdb('record', '--gpu', t.gpu, '--', './plain'), r'plain.*not an executable.*chmod')


def test_program_that_is_32_bit(t):
    # the smallest ELF32 header for the i386 (System V ABI): magic, class 1, data 1, version 1, ET_EXEC, EM_386
    elf = b'\x7fELF\x01\x01\x01' + bytes(9) + struct.pack('<HHIIIIIHHHHHH', 2, 3, 1, 0x8048054, 52, 0, 0, 52, 32, 1, 0, 0, 0)
    elf += struct.pack('<IIIIIIII', 1, 0, 0x8048000, 0x8048000, 96, 96, 5, 0x1000) + b'\x31\xc0\x40\xcd\x80' + bytes(8)
    t.executable('small32', elf)
    t.sentence(t.tsdb('record', '--gpu', t.gpu, '--', './small32'), r'32-bit')


def test_program_without_gpu_calls(t):
    r = t.record('no_gpu')
    t.equal(r.status, 0, 'exit status')
    t.match(r'no GPU commands', r.err)


def test_static_runtime_on_the_software_gpu(t):
    t.need_soft()
    r = t.record('static_cudart')
    t.sentence(r, r'static.*CUDA runtime|CUDA runtime.*static')
    t.match(r'-cudart shared', r.err, 'the cure')


def test_output_that_cannot_be_written(t):
    t.sentence(t.record('vecadd', out='no/such/folder/x.sbt'), r'no/such/folder')


def test_full_disk_keeps_what_was_written(t):
    if os.geteuid() != 0:
        raise Skip('needs root to mount a small file system')
    os.mkdir(t.path('small'))
    if subprocess.run(['mount', '-t', 'tmpfs', '-o', 'size=64k', 'none', t.path('small')], stderr=subprocess.DEVNULL,
                      check=False).returncode:
        raise Skip('mount is not permitted here')
    try:
        r = t.record('tiny_launches', '200000', out='small/x.sbt')
        t.equal(r.status, 1, 'exit status')
        t.match(r'No space left', r.err)
        v = t.tsdb('view', '--json', 'small/x.sbt')
        t.check(v.status in (0, 1), 'view')
        for line in v.out.splitlines():
            json.loads(line)
    finally:
        subprocess.run(['umount', t.path('small')], check=False)


def test_ptrace_not_permitted(t):
    """A seccomp filter that answers EPERM to ptrace, as some containers do."""
    # classic BPF: load the system call number; ptrace (101) -> ERRNO|EPERM, else allow (linux/seccomp.h)
    insns = [(0x20, 0, 0, 0), (0x15, 0, 1, 101), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7fff0000)]
    code = b''.join(struct.pack('<HBBI', *i) for i in insns)
    libc = ctypes.CDLL(None, use_errno=True)
    buf = ctypes.create_string_buffer(code)
    prog = struct.pack('<HxxxxxxQ', len(insns), ctypes.addressof(buf))

    def filtered():
        libc.prctl(38, 1, 0, 0, 0)
        libc.prctl(22, 2, prog, 0, 0)
    r = t.run([tsdb_path(), 'record', '--gpu', t.gpu, '--', program('no_gpu')], preexec_fn=filtered)
    t.sentence(r, r'ptrace.*(not permitted|refused)|(not permitted|refused).*ptrace')


def test_attach_to_what_is_not_there(t):
    t.sentence(t.tsdb('--batch', '-p', '4194304'), r'there is no process 4194304')
    t.sentence(t.tsdb('--batch', '-p', 'no-such-name'), r'no process is called no-such-name')
    t.sentence(t.tsdb('--batch', '-p', '1'), r'first process')


def test_tsdb_without_build_of_agent(t):
    """tsdb alone in a folder: the trace tools work, recording says what is missing."""
    t.copy_program(tsdb_path(), 'tsdb-alone')
    if os.path.dirname(tsdb_path()).endswith('/bin'):
        raise Skip('the bundle finds its libraries by place')
    r = t.run([t.path('tsdb-alone'), 'doctor'])
    t.check(r.status in (0, 1), 'doctor')


def test_why_behind_a_launch_that_records_events(t):
    """Found by changing traces: a launch that may begin early has a number on its stream's lane, but is no item of it."""
    path = os.path.join(SRC, 'tests/fuzz/corpus/traces/found-launch-that-records-events.sbt')
    if not os.path.exists(path):
        raise Skip('the corpus is not here')
    r = t.tsdb('--batch', '-ex', 'order why 96 99', '-ex', 'order why 48 99', path)
    t.equal(r.status, 0, 'exit status')
    t.match(r'^#96 is always finished before #99 begins', r.out)
    t.match(r'^#48 is always finished before #99 begins', r.out)


def test_options_that_there_are_not(t):
    """An option that a tool has not is called that, not a range; the GPU is a choice of those that have one."""
    t.record('vecadd')
    for tool, says in ((['races', '--on', 'soft'], r'races takes no --on\. What kernels touch is found on the software GPU'), (['races', '--gpu=soft'], r'races takes no --gpu=soft'),
                       (['races', '--wombat'], r'races has no option --wombat\. It has --possible'), (['summary', '--wombat'], r'there is no option --wombat')):
        t.sentence(t.tsdb(tool[0], 't.sbt', *tool[1:]), says)
