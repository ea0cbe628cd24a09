// SPDX-License-Identifier: Apache-2.0
//
// TraceSmith in Visual Studio Code: starts `tsdb dap`, and shows streams and state, which the editor has no view for. What the views show
// is what tsdb/state answers, asked for when the session stops.
'use strict';

const vscode = require('vscode');
const tree = require('./tree');

const QUEUES_MAX = 64; // streams whose queues are asked for

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
		this.changed = new vscode.EventEmitter();
	}

	async stopped(session, body) {
		this.position = body.position;
		try {
			this.state = await askState(session);
		} catch (e) {
			this.state = null;
		}
		this.changed.fire();
	}

	clear() {
		this.state = this.position = null;
		this.changed.fire();
	}
}

/** A view: rows of tree.js as items. */
class View {
	constructor(model, rows) {
		this.rows = rows;
		this.model = model;
		this.onDidChangeTreeData = model.changed.event;
	}

	getChildren(row) {
		return row ? row.inside() : this.model.state ? this.rows(this.model.state) : [];
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

async function whoWrote(item) {
	const known = item && item.variable && item.variable.memoryReference;
	const memoryReference = known || await vscode.window.showInputBox({ prompt: 'An address: 0x302000000' });
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
	add(vscode.window.registerTreeDataProvider('tracesmith.streams', new View(model, tree.streams)));
	add(vscode.window.registerTreeDataProvider('tracesmith.state', new View(model, tree.state)));
	add(vscode.commands.registerCommand('tracesmith.goto', goto));
	add(vscode.commands.registerCommand('tracesmith.gotoHead', (row) => ask('tsdb/goto', { seq: row.seq })));
	add(vscode.commands.registerCommand('tracesmith.reverseFinish', () => ask('tsdb/reverseFinish')));
	add(vscode.commands.registerCommand('tracesmith.whoWrote', whoWrote));
	add(vscode.commands.registerCommand('tracesmith.races', races));
	add(vscode.commands.registerCommand('tracesmith.pickProcess', () => vscode.window.showInputBox({ prompt: 'The process: a number' })));
}

module.exports = { activate, deactivate() {} };
