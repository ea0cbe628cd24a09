# SPDX-License-Identifier: Apache-2.0
"""record --sources: a trace shows its lines where the files are gone, or are others; and what is said when the program was built anew."""
import json
import os
import re
import shutil
import subprocess

from e2e import SRC, Skip
from replay import find

PROGRAMS = os.path.join(SRC, 'tests', 'programs')


def build(t, text, name='prog'):
    """Compiles text as NAME.cu in a folder of its own."""
    nvcc = shutil.which('nvcc')
    if not nvcc:
        raise Skip('no nvcc')
    os.makedirs(t.path('src'), exist_ok=True)
    with open(t.path(f'src/{name}.cu'), 'w', encoding='utf-8') as f:
        f.write(text)
    subprocess.run([nvcc, '-g', '-O1', '-lineinfo', '-cudart', 'shared', '-gencode', 'arch=compute_75,code=compute_75', f'-I{PROGRAMS}', '-Xlinker', '--build-id',
                    '-Xlinker', f'-rpath={os.path.dirname(os.path.dirname(os.path.realpath(nvcc)))}/lib64', '-o', name, f'src/{name}.cu'], check=True, capture_output=True, cwd=t.dir)


PROG = '''#include "gpu.h"
__global__ void twice(int *v, int n)
{
	int i = threadIdx.x;

	if (i < n)
		v[i] *= 2; // the line inside
}

int main()
{
	int *v;

	CHECK(cudaMalloc(&v, 128));
	CHECK(cudaMemset(v, 1, 128));
	twice<<<1, 32>>>(v, 32); // the line of the launch
	CHECK(cudaDeviceSynchronize());
	return 0;
}
'''


def record(t, *options):
    r = t.tsdb('record', '--gpu', t.gpu, *options, '-o', 't.sbt', './prog')
    t.equal(r.status, 0, 'record')


def look(t, *commands):
    seq = find(t, 'twice<<<')
    return t.tsdb('--batch', '--no-init', '-ex', 'replay start --on none', '-ex', f'goto {seq}', *[x for c in commands for x in ('-ex', c)], 't.sbt')


def test_lines_of_files_that_are_gone(t):
    build(t, PROG)
    record(t, '--sources')
    t.match(r'^with .*, the text of \d+ source files?$', t.tsdb('info', 't.sbt').out)
    t.check(json.loads(t.tsdb('info', '--json', 't.sbt').out)['sources'] > 0, 'JSON')
    shutil.rmtree(t.path('src'))
    os.remove(t.path('prog'))
    r = look(t, 'list', 'info source', 'list prog.cu:7')
    line = PROG.split('\n').index('\ttwice<<<1, 32>>>(v, 32); // the line of the launch') + 1
    t.match(rf'^{line}\t\ttwice<<<1, 32>>>\(v, 32\); // the line of the launch$', r.out)
    t.match(rf'^=> +{line}  \ttwice<<<', r.out)
    t.match(r"^Its text is the trace's; it has 19 lines\.$", r.out)
    t.match(r'^ +7  \t\tv\[i\] \*= 2; // the line inside$', r.out)
    if t.gpu == 'soft':
        r = t.tsdb('--batch', '--no-init', '-ex', 'replay start', '-ex', f'replay enter {find(t, "twice<<<")}', '-ex', 'stepi 12', '-ex', 'list', 't.sbt')
        t.match(r'^ +7  \t\tv\[i\] \*= 2; // the line inside$', r.out)


def test_without_it_there_are_none(t):
    build(t, PROG)
    record(t)
    t.no_match('source file', t.tsdb('info', 't.sbt').out)
    shutil.rmtree(t.path('src'))
    r = look(t, 'list')
    t.match(r'the source file \S*prog\.cu is not there', r.err)


def test_a_program_that_was_built_anew(t):
    """The trace's text counts, not the disk's; one line says that the program is another."""
    build(t, PROG)
    record(t, '--sources')
    build(t, '// one more line\n' + PROG.replace('// the line of the launch', '// another text'))
    r = look(t, 'list', 'bt', 'bt')
    t.equal(len(re.findall(r'/prog is not there any more as it was recorded \(build id [0-9a-f]+ then, [0-9a-f]+ now\): functions and lines are those that the trace kept\.', r.err)), 1, 'once')
    t.match(r'^=> +\d+  \ttwice<<<1, 32>>>\(v, 32\); // the line of the launch$', r.out)
    t.no_match('another text', r.out)
    t.match(r'^#\d+ .*main \(\) at \S*prog\.cu:16$', r.out)
    r = t.tsdb('--batch', '--no-init', '-ex', 'break twice', '-ex', 'file t.sbt', '-ex', 'file ./prog', '-ex', 'run', '-ex', 'list', '-ex', 'kill')
    t.match(r'another text', r.out, 'the live program has the text on the disk')


def test_limits(t):
    """A file of more than 1 MiB is left out, and nothing is wrong then."""
    build(t, PROG + '// ' + 'x' * 100 + '\n' + '// filler ' * (1 << 17) + '\n')
    record(t, '--sources')
    os.remove(t.path('src/prog.cu'))
    t.match(r'the source file \S*prog\.cu is not there', look(t, 'list').err)


def test_texts_cannot_command_the_terminal(t):
    build(t, PROG.replace('// the line of the launch', '// \x1b[31mred\x1b[0m'))
    record(t, '--sources')
    r = look(t, 'list')
    t.no_match('\x1b', r.out)
    t.match(r'red', r.out)
