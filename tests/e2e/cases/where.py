# SPDX-License-Identifier: Apache-2.0
"""Where code and names are: info line, symbol, functions, scope, frame. Addresses are compared with binutils' and the source's own lines."""
import json
import os
import re
import shutil
import subprocess

from e2e import SRC, Skip, program
from replay import find, recorded, shell
from source import line_of


def nm(prog):
    """Addresses of the functions that binutils find, by name without arguments."""
    if not shutil.which('nm'):
        raise Skip('no nm')
    out = subprocess.run(['nm', '-C', '--defined-only', program(prog)], check=True, capture_output=True, text=True).stdout
    return {m[2].split('(')[0]: int(m[1], 16) for m in re.finditer(r'^([0-9a-f]+) [tT] (.*)$', out, re.M)}


def addr2line(prog, addr):
    if not shutil.which('addr2line'):
        raise Skip('no addr2line')
    out = subprocess.run(['addr2line', '-e', program(prog), hex(addr)], check=True, capture_output=True, text=True).stdout
    return int(re.search(r':(\d+)', out)[1])


def test_info_line_of_a_program_that_does_not_run(t):
    main = addr2line('arguments', nm('arguments')['main'])
    t.check(main - line_of('arguments.cu', 'int main') in (0, 1), 'the brace may be on a line of its own')
    rows = json.loads(t.session('arguments', f'info line arguments.cu:{main} --json').out)
    t.equal(min(int(r['start'], 16) for r in rows), nm('arguments')['main'], 'main begins there')
    launch = line_of('arguments.cu', 'adam<<<')
    for r in json.loads(t.session('arguments', f'info line {launch} --json').out):
        t.equal((r['line'], r['function'], r['kernel_name']), (launch, 'main', None), 'a piece of the line')
        for addr in int(r['start'], 16), int(r['end'], 16) - 1:
            t.equal(addr2line('arguments', addr), launch, 'binutils say so, too')
    start = rows[0]['start']
    r = t.session('arguments', 'info line main', f'info line *{start}', 'info line arguments.cu:1', 'info line *16')
    t.equal(len(re.findall(rf'^Line {main} of "\S*arguments\.cu" starts at address {start} <main\+\d+> and ends at 0x[0-9a-f]+\.$', r.out, re.M)), 2, 'twice')
    t.match(r'^Line 1 of "\S*arguments\.cu" has no code\.$', r.out)
    t.match(r'no code with line numbers is at 0x10', r.err)


def test_info_line_of_a_kernel(t):
    """The line of the PTX that it names is the one that `break ptx` stops at."""
    t.need_soft()
    recorded(t, 'arguments', options=('--memory', 'all'))
    seq = find(t, 'adam<<<')
    line = [n for n, text in enumerate(open(os.path.join(SRC, 'tests/programs/arguments.cu'), encoding='utf-8'), 1) if n > line_of('arguments.cu', 'void adam(') and ';' in text][0]
    out = shell(t, f'info line arguments.cu:{line}').out
    ptx = int(t.match(rf'^Line {line} of "\S*arguments\.cu" begins at line (\d+) of the PTX of adam\.$', out)[1])
    r = shell(t, 'replay start', f'goto {seq - 1}', f'break ptx adam:{ptx}', 'continue', 'when --json', 'list')
    t.match(rf'^=> +{line}  ', r.out)
    t.equal(json.loads(re.search(r'^\{"seq".*?\}\}?$', r.out, re.M | re.S)[0])['in_kernel']['code_line'] - ptx in (0, 1, 2), True, 'the stop is at that line')


def test_info_line_of_the_stop(t):
    launch = line_of('arguments.cu', 'adam<<<')
    r = t.session('arguments', 'info line', 'break kernel adam', 'run', 'info line', 'info line *main', 'kill')
    t.match(r'there is no place in the source to look at', r.err)
    bias = int(t.match(r'starts at address (0x[0-9a-f]+) <main\+0>', r.out)[1], 16) - nm('arguments')['main']
    t.check(bias > 0 and bias % 4096 == 0, 'addresses of the running program')
    t.match(rf'^Line {launch} of "\S*arguments\.cu" starts at address 0x[0-9a-f]+ <main\+\d+>', r.out)


def test_info_symbol(t):
    r = t.session('arguments', 'break kernel adam', 'run', 'info symbol main', 'info symbol (char *)main + 3', 'info symbol grad', 'info symbol (char *)grad + 5', 'info symbol 3', 'info symbol', 'kill')
    t.match(r'^main in \S*/arguments$', r.out)
    t.match(r'^main \+ 3 in \S*/arguments$', r.out)
    t.match(r'^the allocation of 16384 bytes at 0x[0-9a-f]+, made by #\d+$', r.out)
    t.match(r'^5 bytes into the allocation of 16384 bytes at 0x[0-9a-f]+, made by #\d+$', r.out)
    t.match(r'no symbol matches 0x3', r.err)
    t.match(r'info symbol needs an address', r.err)


def test_info_functions(t):
    r = t.session('arguments', 'info functions', 'info functions ^(ada|mai)', 'info functions nothing_like_it', 'info functions (')
    adam, main = line_of('arguments.cu', 'void adam('), addr2line('arguments', nm('arguments')['main'])
    t.match(rf'^kernel +adam at \S*arguments\.cu:{adam}\n0x{nm("arguments")["main"]:016x}  main at \S*arguments\.cu:{main}\nNo function or kernel matches\.$', r.out)
    t.match(r'"\(" is no regular expression', r.err)
    t.no_match(r'__device_stub|^0x.*(adam|fill)', r.out)  # what nvcc makes for the host is no function of the user's
    recorded(t, 'arguments')
    r = shell(t, 'replay start --on none', 'info functions ^(adam|main|printf)')
    t.match(rf'^kernel +adam at .*\n0x0*{nm("arguments")["main"]:x}  main at', r.out)
    t.no_match('printf', r.out)  # the C library's


def test_info_scope(t):
    r = t.session('arguments', 'info scope adam', 'info scope main', 'info scope nothing', 'info scope', 'info scope arguments.cu:1')
    for line in (r'parameter grad: float \* restrict', r'parameter lr: float', r'parameter p: params', r'parameter n: unsigned long long', r'variable g: float \* \(line \d+\)'):
        t.match(f'^{line}$', r.out)
    t.match(r'no function or kernel with line numbers is called nothing', r.err)
    t.match(r'info scope needs a place', r.err)
    t.match(r'no code of the host is at \S*arguments\.cu:1\b', r.err)


def test_info_frame(t):
    launch = line_of('arguments.cu', 'adam<<<')
    r = t.session('arguments', 'break kernel adam', 'run', 'info frame', 'info frame 1', 'info frame 99', 'info frame x', 'kill')
    t.match(rf'^Frame 0: adam\(.*\) at \S*arguments\.cu:\d+\n  inlined into the frame that called it\n(.*\n)*  called by frame 1: main \(\) at \S*arguments\.cu:{launch}$', r.out)
    t.match(rf'^Frame 1: main \(\) at \S*arguments\.cu:{launch}\n  pc 0x[0-9a-f]+\n  \d+ bytes behind the beginning of the function\n  file \S*/arguments\n  stack pointer 0x[0-9a-f]+$', r.out)
    t.match(r'the stack has 2 frames', r.err)
    t.match(r'"x" is no frame', r.err)


def test_stubs_are_not_shown(t):
    """What nvcc puts between <<<>>> and the runtime, of functions and of templates; all of it with `set backtrace runtime on`."""
    for prog in 'arguments', 'nvtx', 'sums':
        r = t.session(prog, 'break launch', 'run', 'bt', 'continue', 'bt', 'set backtrace runtime on', 'bt', 'kill')
        plain, whole = r.out.split('#0  ', 3)[1:3], r.out.split('#0  ')[-1]
        for stack in plain:
            t.no_match(r'__device_stub_|cudaLaunchKernel', stack.split('Breakpoint')[0])
        t.match('__device_stub_', whole)
