// SPDX-License-Identifier: Apache-2.0
//
// TraceSmith in Visual Studio Code: starts `tsdb dap`, and shows streams and state, which the editor has no view for. What the views show
// is what tsdb/state answers, asked for when the session stops.
'use strict';

const vscode = require('vscode');
const tree = require('./tree');

const QUEUES_MAX = 64; // streams whose queues are asked for
const MEMORY_BYTES = 256; // of the memory view

/** The state with what is queued in each stream, which is told of one stream at a time. */
async function askState(session) {
	const state = (await session.customRequest('tsdb/state')).answer;
	const queues = tree.list(state.stream_list).slice(0, QUEUES_MAX).map(async (s) =>
		s.destroyed ? s : (await session.customRequest('tsdb/state', { stream: s.id })).answer);

	return { ...state, stream_list: await Promise.all(queues) };
}

/** The newest answers; views are made of them. */
class Model {
	constructor() {
		this.state = null;
		this.position = null;
		this.address = null; // of the memory view
		this.memory = null;
		this.changed = new vscode.EventEmitter();
	}

	async stopped(session, body) {
		this.position = body.position;
		try {
			this.state = await askState(session);
		} catch (e) {
			this.state = null;
		}
		await this.read(session);
	}

	/** The memory at the chosen address, as it is at this stop. */
	async read(session) {
		const memoryReference = this.address;

		try {
			this.memory = memoryReference && await session.customRequest('readMemory', { memoryReference, count: MEMORY_BYTES });
		} catch (e) {
			this.memory = null;
		}
		this.changed.fire();
	}

	clear() {
		this.state = this.position = this.memory = this.address = null;
		this.changed.fire();
	}
}

/** A view: rows of tree.js as items, made of a member of the model. */
class View {
	constructor(model, member, rows) {
		this.rows = rows;
		this.member = member;
		this.model = model;
		this.onDidChangeTreeData = model.changed.event;
	}

	getChildren(row) {
		return row ? row.inside() : this.model[this.member] ? this.rows(this.model[this.member]) : [];
	}

	getTreeItem(row) {
		const none = vscode.TreeItemCollapsibleState.None;
		const item = new vscode.TreeItem(row.label, row.inside ? vscode.TreeItemCollapsibleState.Collapsed : none);

		item.description = row.text;
		if (row.seq)
			item.contextValue = 'command';
		return item;
	}
}

function session() {
	const s = vscode.debug.activeDebugSession;

	return s && s.type === 'tsdb' ? s : null;
}

/** Asks; a refusal is shown with its sentence. */
async function ask(request, args) {
	const s = session();

	try {
		return s ? await s.customRequest(request, args) : null;
	} catch (e) {
		vscode.window.showErrorMessage(e.message);
		return null;
	}
}

async function goto() {
	const place = await vscode.window.showInputBox({ prompt: 'A command: 41, 41.3, begin, end' });

	if (place)
		await ask('tsdb/goto', { place });
}

/** Of a variable that points somewhere, or typed. */
async function chooseAddress(item) {
	const known = item && item.variable && item.variable.memoryReference;

	return known || vscode.window.showInputBox({ prompt: 'An address: 0x302000000' });
}

async function memory(model, item) {
	const address = await chooseAddress(item), s = session();

	if (!address || !s)
		return;
	model.address = address.trim();
	await model.read(s);
	if (!model.memory)
		await ask('readMemory', { memoryReference: model.address, count: MEMORY_BYTES }); // says why not
	await vscode.commands.executeCommand('tracesmith.memory.focus');
}

async function whoWrote(item) {
	const memoryReference = await chooseAddress(item);
	const found = memoryReference && await ask('tsdb/whoWrote', { memoryReference });

	if (!found)
		return;
	const seq = found.answer.seq;
	const go = seq && await vscode.window.showInformationMessage(tree.writer(found.answer), `Go to #${seq}`);

	if (go)
		await ask('tsdb/goto', { seq });
}

async function races() {
	const found = await ask('tsdb/races');
	const list = found ? tree.list(found.answer) : [];

	if (found && !list.length)
		vscode.window.showInformationMessage('Nothing that was recorded races.');
	const chosen = list.length && await vscode.window.showQuickPick(list.map(tree.race), { placeHolder: 'Go to the later command of a race' });

	if (chosen)
		await ask('tsdb/goto', { seq: chosen.seq });
}

function activate(context) {
	const model = new Model();
	const add = (...what) => context.subscriptions.push(...what);
	const factory = {
		createDebugAdapterDescriptor: () =>
			new vscode.DebugAdapterExecutable(vscode.workspace.getConfiguration('tracesmith').get('tsdb'), ['dap']),
	};

	add(vscode.debug.registerDebugAdapterDescriptorFactory('tsdb', factory));
	add(vscode.debug.onDidReceiveDebugSessionCustomEvent((e) => {
		if (e.event === 'tsdb/position' && e.session === session())
			model.stopped(e.session, e.body);
	}));
	add(vscode.debug.onDidTerminateDebugSession((s) => s.type === 'tsdb' && model.clear()));
	add(vscode.window.registerTreeDataProvider('tracesmith.streams', new View(model, 'state', tree.streams)));
	add(vscode.window.registerTreeDataProvider('tracesmith.state', new View(model, 'state', tree.state)));
	add(vscode.window.registerTreeDataProvider('tracesmith.memory', new View(model, 'memory', (m) => tree.memory(m.address, m.data, m.unreadableBytes))));
	add(vscode.commands.registerCommand('tracesmith.showMemory', (item) => memory(model, item)));
	add(vscode.commands.registerCommand('tracesmith.goto', goto));
	add(vscode.commands.registerCommand('tracesmith.gotoHead', (row) => ask('tsdb/goto', { seq: row.seq })));
	add(vscode.commands.registerCommand('tracesmith.reverseFinish', () => ask('tsdb/reverseFinish')));
	add(vscode.commands.registerCommand('tracesmith.whoWrote', whoWrote));
	add(vscode.commands.registerCommand('tracesmith.races', races));
	add(vscode.commands.registerCommand('tracesmith.pickProcess', () => vscode.window.showInputBox({ prompt: 'The process: a number' })));
}

module.exports = { activate, deactivate() {} };
