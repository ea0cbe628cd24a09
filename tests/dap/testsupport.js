// SPDX-License-Identifier: Apache-2.0
//
// A client by others, npm's @vscode/debugadapter-testsupport, against `tsdb dap`: node testsupport.js TSDB TRACE SOURCE LINE. LINE is that of
// the launch of consume in race_demo. Prints "ok" when all holds.
'use strict';

const assert = require('assert');
const { DebugClient } = require('@vscode/debugadapter-testsupport');

const [tsdb, trace, source, lineText] = process.argv.slice(2);
const line = Number(lineText);
const DATA = '0x302000000'; // what produce writes and consume reads
const seq = async (dc) => (await dc.customRequest('tsdb/position')).body.answer.seq;
/** A move and where it ended. */
const moved = async (dc, request) => (await Promise.all([dc.waitForEvent('stopped'), request]))[0].body;

async function run(dc) {
	const launch = { type: 'tsdb', request: 'launch', trace, on: 'soft', stopOnEntry: false };

	// breakpoint by line: initialize, launch, setBreakpoints, configurationDone, and the stop there
	await dc.hitBreakpoint(launch, { path: source, line }, {}, { path: source, line });
	assert.strictEqual(await seq(dc), 21);
	const { body: { threads } } = await dc.threadsRequest();
	assert(threads.some((t) => /^stream 2 /.test(t.name)));
	const { body: { stackFrames } } = await dc.stackTraceRequest({ threadId: 3 });
	assert(/^#21 consume/.test(stackFrames[0].name));
	const { body: { scopes } } = await dc.scopesRequest({ frameId: stackFrames[0].id });
	const args = await dc.variablesRequest({ variablesReference: scopes.find((s) => s.name === 'Arguments').variablesReference });
	assert.deepStrictEqual(args.body.variables.map((v) => v.name), ['sum', 'in', 'n']);
	await dc.setBreakpointsRequest({ source: { path: source }, breakpoints: [] });

	const info = await dc.dataBreakpointInfoRequest({ name: DATA, asAddress: true, bytes: 4 });
	await dc.setDataBreakpointsRequest({ breakpoints: [{ dataId: info.body.dataId, accessType: 'write' }] });
	assert.strictEqual((await moved(dc, dc.reverseContinueRequest({ threadId: 3 }))).reason, 'data breakpoint');
	assert.strictEqual(await seq(dc), 18);
	await dc.setDataBreakpointsRequest({ breakpoints: [] });

	await moved(dc, dc.nextRequest({ threadId: 3 }));
	await moved(dc, dc.stepBackRequest({ threadId: 3 }));
	assert.strictEqual(await seq(dc), 18);
	const targets = await dc.customRequest('gotoTargets', { source: { path: source }, line });
	await moved(dc, dc.gotoRequest({ threadId: 3, targetId: targets.body.targets[0].id }));
	assert.strictEqual(await seq(dc), 21);

	await moved(dc, dc.stepInRequest({ threadId: 3 }));
	const inside = (await dc.stackTraceRequest({ threadId: 3 })).body.stackFrames[0];
	const code = await dc.disassembleRequest({ memoryReference: inside.instructionPointerReference, instructionCount: 5 });
	assert.strictEqual(code.body.instructions.length, 5);
	await moved(dc, dc.stepOutRequest({ threadId: 3 }));
	const memory = await dc.customRequest('readMemory', { memoryReference: DATA, count: 4 });
	assert.strictEqual(Buffer.from(memory.body.data, 'base64').readFloatLE(0), 1);
	const hover = await dc.evaluateRequest({ expression: 'grid_x', context: 'hover' });
	assert.strictEqual(hover.body.result, '4');
	await assert.rejects(dc.evaluateRequest({ expression: 'nonsense', context: 'hover' }), /nonsense/);
	await dc.disconnectRequest({});
}

async function main() {
	const dc = new DebugClient(tsdb, 'dap', 'tsdb');

	await dc.start();
	try {
		await run(dc);
		console.log('ok');
	} finally {
		await dc.stop();
	}
}

main().catch((e) => {
	console.error(e);
	process.exit(1);
});
