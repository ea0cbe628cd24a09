-- SPDX-License-Identifier: Apache-2.0
--
-- The configuration of docs/editor.md in nvim-dap, without a screen: a replay with a breakpoint at a line: to it, a command on, one
-- back, to the beginning. Prints a line for each stop.
--
--     nvim --headless --clean -c 'luafile nvim.lua'
--
-- NVIM_DAP, the folder of nvim-dap, TSDB, SOURCE and LINE, and TRACE are variables of the environment.
vim.o.runtimepath = vim.env.NVIM_DAP .. ',' .. vim.o.runtimepath
vim.o.swapfile = false
local dap = require('dap')
dap.adapters.tsdb = { type = 'executable', command = vim.env.TSDB, args = { 'dap' } }
local moves = { dap.continue, dap.step_over, dap.step_back, dap.reverse_continue }
local stops = 0

local function say(line)
	io.stdout:write(line .. '\n')
end

local function ended(line)
	say(line)
	vim.cmd('qa!')
end

-- After each stop nvim-dap asks for threads and frames; a move that comes before their answer is refused.
local function go_on(session, position)
	local command = position.command
	say(position.seq == 0 and 'begin' or ('#%d %s'):format(position.seq, command.kernel_name or command.kind))
	if stops > #moves then
		dap.terminate()
		return vim.defer_fn(function() ended('done') end, 500)
	end
	local function when_ready()
		if session.stopped_thread_id then
			moves[stops]()
		else
			vim.defer_fn(when_ready, 50)
		end
	end
	when_ready()
end

dap.listeners.after.stackTrace['test'] = function(session, err, body)
	if session.told == stops then
		return
	end
	session.told = stops
	session:request('tsdb/position', vim.empty_dict(), function(_, answer)
		vim.schedule(function() go_on(session, answer.answer) end)
	end)
end
dap.listeners.before.event_stopped['test'] = function()
	stops = stops + 1
end

vim.cmd('edit ' .. vim.env.SOURCE)
vim.api.nvim_win_set_cursor(0, { tonumber(vim.env.LINE), 0 })
dap.set_breakpoint()
dap.run({ type = 'tsdb', request = 'launch', name = 'replay', trace = vim.env.TRACE, on = 'soft' })
vim.defer_fn(function() ended('it takes too long') end, 90000)
