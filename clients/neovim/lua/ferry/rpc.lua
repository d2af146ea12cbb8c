--- One ferry process: requests and their answers, events, and its end.
---
--- Two ways to speak with it, which the host cannot tell apart: "lsp" lets Neovim's own client for
--- language servers do it, "ndjson" is a job that writes and reads lines.

local M = {}

--- Neovim's client of language servers: headers, and ids of its own.
local function start_lsp(options, on_event, on_exit)
  local dispatchers = {
    notification = on_event,
    on_exit = vim.schedule_wrap(on_exit),
    on_error = function() end,
  }
  local arguments = vim.list_extend({ "serve" }, options.args)
  local extra = { env = options.env, cwd = options.cwd }
  local client
  if vim.fn.has("nvim-0.10") == 1 then
    local command = vim.list_extend({ options.bin }, arguments)
    client = vim.lsp.rpc.start(command, dispatchers, extra)
  else
    client = vim.lsp.rpc.start(options.bin, arguments, dispatchers, extra)
  end
  return {
    request = function(method, params, answer)
      local sent, id = client.request(method, params, answer)
      return sent and id or nil
    end,
    notify = client.notify,
    stop = function()
      if client.terminate then
        client.terminate()
      else
        client.handle:kill("sigterm")
      end
    end,
  }
end

--- A job: one JSON object per line. The first and the last item of what arrives are parts of lines.
local function start_lines(options, on_event, on_exit)
  local waiting, last_id, rest, said = {}, 0, "", {}

  local function take(line)
    local message = vim.json.decode(line, { luanil = { object = true } })
    if message.method then
      on_event(message.method, message.params)
    elseif waiting[message.id] then
      local answer = waiting[message.id]
      waiting[message.id] = nil
      answer(message.error, message.result)
    end
  end

  local command = vim.list_extend({ options.bin, "serve" }, options.args)
  local job = vim.fn.jobstart(command, {
    env = options.env,
    cwd = options.cwd,
    on_stdout = function(_, items)
      items[1] = rest .. items[1]
      rest = table.remove(items)
      for _, line in ipairs(items) do
        take(line)
      end
    end,
    on_stderr = function(_, items)
      said = vim.list_extend(said, items)
    end,
    on_exit = function(_, code)
      on_exit(code, 0, vim.trim(table.concat(said, "\n")))
    end,
  })
  local function write(message)
    message.jsonrpc = "2.0"
    return pcall(vim.fn.chansend, job, vim.json.encode(message) .. "\n")
  end
  return {
    request = function(method, params, answer)
      last_id = last_id + 1
      if not write({ id = last_id, method = method, params = params }) then
        return nil
      end
      waiting[last_id] = answer
      return last_id
    end,
    notify = function(method, params)
      write({ method = method, params = params })
    end,
    stop = function()
      vim.fn.jobstop(job)
    end,
  }
end

--- Starts a process. `options`: bin, args, env, cwd, framing ("lsp" or "ndjson"). `on_event(method,
--- params)` gets its events; `on_exit(message)` is called once, after every open request was
--- answered with that.
function M.start(options, on_event, on_exit)
  if vim.fn.executable(options.bin) == 0 then
    error(("ferry: there is no program %q: set `bin` in setup(), or put it on PATH"):format(options.bin), 0)
  end
  local client = { alive = true }
  local open = {}

  local function ended(code, signal, words)
    client.alive = false
    local how = signal ~= 0 and ("was ended by signal " .. signal) or ("exited with code " .. code)
    local message = "ferry " .. how .. (words and words ~= "" and ": " .. words or "")
    for _, answer in ipairs(vim.tbl_keys(open)) do
      answer({ message = message, data = { code = "CLIENT_PROCESS_DIED", retryable = true } })
    end
    on_exit(message)
  end

  local start = options.framing == "ndjson" and start_lines or start_lsp
  local transport = start(options, on_event, ended)

  --- Sends a request; `answer(error, result)` is called once. Returns its id.
  function client.request(method, params, answer)
    local function once(...)
      if open[once] then
        open[once] = nil
        answer(...)
      end
    end
    open[once] = true
    local id = transport.request(method, params, once)
    if not id then
      once({ message = "ferry no longer reads", data = { code = "CLIENT_CLOSED" } })
    end
    return id
  end

  client.notify = transport.notify

  --- Ends the process: what is under way is suspended. Waits for its end, two seconds at most.
  function client.close()
    if not client.alive then
      return
    end
    client.request("shutdown", { mode = "now" }, function()
      client.notify("exit", vim.empty_dict())
    end)
    if not vim.wait(2000, function() return not client.alive end, 10) then
      transport.stop()
    end
  end

  return client
end

return M
