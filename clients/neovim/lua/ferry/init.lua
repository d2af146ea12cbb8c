--- Share files and selections on channels, through the ferry sidecar.

local marks = require("ferry.marks")
local rpc = require("ferry.rpc")

local M = {}

local settings = {
  --- The program, and more arguments of `ferry serve`.
  bin = vim.env.FERRY_BIN or "ferry",
  args = {},
  --- "lsp": Neovim's own client of language servers; "ndjson": a job and lines.
  framing = "lsp",
  --- Laid over ferry's configuration file.
  config = nil,
  --- The channel of commands that name none.
  channel = "neovim",
  --- Where downloads go; default: the working directory.
  folder = nil,
  --- The line that is inserted for a file: id, name, channel, url?, size, contentType.
  link = function(file)
    return ("[%s](%s)"):format(file.name, file.url or (file.channel .. "/" .. file.id))
  end,
}

local client
--- What is under way, by transfer id: what hears of its events.
local transfers = {}
local started = 0

local function fail(err)
  vim.notify("ferry: " .. err.message, vim.log.levels.ERROR)
end

local ENDS = { uploaded = true, downloaded = true, error = true, failure = true, cancelled = true }

local function on_event(method, params)
  local transfer = params.transferId and transfers[params.transferId]
  if not transfer then
    return
  end
  if method == "progress" then
    transfer.percent = params.percent
    transfer.on_progress(params)
  elseif ENDS[method] then
    -- Neovim's client drops the answer to a request that was cancelled, so the event has to do.
    transfer.finish(params.error)
  end
end

--- The process, started and greeted when it is first needed, and again when it has ended.
local function connected()
  if client and client.alive then
    return client
  end
  client = rpc.start(settings, on_event, function(message)
    if vim.v.exiting == vim.NIL then
      vim.notify(message, vim.log.levels.WARN)
    end
  end)
  local hello = {
    clientInfo = { name = "ferry-neovim" },
    protocolVersions = { 1 },
    processId = vim.fn.getpid(),
    config = settings.config,
  }
  client.request("initialize", hello, function(err)
    if err then
      fail(err)
    end
  end)
  return client
end

--- Begins a transfer; `done(error, result)` is called once, with the result where there is one.
local function transfer(method, params, on_progress, done)
  started = started + 1
  local id = ("neovim-%d-%d-%d"):format(vim.fn.getpid(), vim.loop.hrtime(), started)
  local function finish(err, result)
    -- After an `uploaded` comes the result; every other end is told by its event already.
    if transfers[id] and (err or result) then
      transfers[id] = nil
      done(err, result)
    end
  end
  local name = params.name or vim.fn.fnamemodify(params.path or "", ":t")
  transfers[id] = { name = name, on_progress = on_progress, finish = finish }
  params.transferId = id
  local ok, reason = pcall(function() connected().request(method, params, finish) end)
  if not ok then
    finish({ message = reason, data = {} })
  end
  return id
end

--- Uploads what `source` holds (`path`, or `text` with a `name`) to a channel.
--- `done(error, file)` is called at the end, `on_progress(params)` meanwhile.
function M.upload(source, channel, done, on_progress)
  local params = vim.tbl_extend("error", { channel = channel or settings.channel }, source)
  return transfer("file/send", params, on_progress or function() end, done)
end

--- Lists the files of a channel: `done(error, files)`, all pages of it.
function M.files(channel, done)
  local files = {}
  local function page(next)
    local ask = { channel = channel or settings.channel, next = next }
    connected().request("file/list", ask, function(err, result)
      if err then
        return done(err)
      end
      vim.list_extend(files, result.files)
      if result.next then
        return page(result.next)
      end
      done(nil, files)
    end)
  end
  page(nil)
end

--- Downloads a file of a channel to `target`, a path, or a folder with "/" at its end:
--- `done(error, result)`.
function M.download(channel, file, target, done)
  local params = { channel = channel or settings.channel, id = file.id, name = file.name }
  params.target = target
  return transfer("file/download", params, function() end, done)
end

--- Cancels what is under way.
function M.cancel()
  for id in pairs(transfers) do
    connected().request("transfer/cancel", { transferId = id }, function() end)
  end
end

--- What is under way, for a status line: "notes.txt 45%".
function M.status()
  local parts = {}
  for _, each in pairs(transfers) do
    table.insert(parts, ("%s %s"):format(each.name, each.percent and each.percent .. "%" or "…"))
  end
  return table.concat(parts, ", ")
end

--- The text of a range of lines or, where that is the last selection and it was one of characters,
--- of the selection.
local function selected(first, last)
  local from, to = vim.api.nvim_buf_get_mark(0, "<"), vim.api.nvim_buf_get_mark(0, ">")
  if vim.fn.visualmode() ~= "v" or from[1] ~= first or to[1] ~= last then
    return table.concat(vim.api.nvim_buf_get_lines(0, first - 1, last, false), "\n") .. "\n"
  end
  local line = vim.api.nvim_buf_get_lines(0, last - 1, last, false)[1]
  -- The end of a selection is where its last character begins.
  local size = #vim.fn.strcharpart(line:sub(to[2] + 1), 0, 1)
  local stop = math.min(#line, to[2] + size)
  return table.concat(vim.api.nvim_buf_get_text(0, first - 1, from[2], last - 1, stop, {}), "\n")
end

--- The channel a command names, which may have spaces; nil where it names none.
local function named(command) return command.args ~= "" and command.args or nil end

--- `:FerryUpload`: the selection or, without a range, the current file as the buffer has it.
local function upload(command)
  local buffer = vim.api.nvim_get_current_buf()
  local path = vim.api.nvim_buf_get_name(buffer)
  local name = path == "" and "untitled.txt" or vim.fn.fnamemodify(path, ":t")
  local source, line
  if command.range > 0 then
    source = { text = selected(command.line1, command.line2), name = name }
    line = command.line2 - 1
  else
    line = vim.api.nvim_win_get_cursor(0)[1] - 1
    if path == "" or vim.bo.modified or vim.fn.filereadable(path) == 0 then
      source = { text = selected(1, vim.api.nvim_buf_line_count(buffer)), name = name }
    else
      source = { path = path }
    end
  end
  local mark = marks.new(buffer, line)
  mark.show("↑ …")
  M.upload(source, named(command), function(err, file)
    if err then
      mark.finish()
      return fail(err)
    end
    local link = settings.link(file)
    mark.finish(link)
    vim.fn.setreg('"', link)
  end, function(progress)
    mark.show(("↑ %d %%"):format(progress.percent or 0))
  end)
end

--- `:FerryFiles`: choose a file of a channel, and download it.
local function files(command)
  local channel = named(command)
  M.files(channel, function(err, found)
    if err then
      return fail(err)
    end
    if #found == 0 then
      return vim.notify("ferry: the channel has no files")
    end
    local choice = {
      prompt = "Download:",
      format_item = function(file) return ("%s  (%d bytes)"):format(file.name, file.size) end,
    }
    vim.ui.select(found, choice, function(file)
      if not file then
        return
      end
      local folder = vim.fn.fnamemodify(settings.folder or vim.fn.getcwd(), ":p")
      M.download(channel, file, folder, function(refused, result)
        if refused then
          return fail(refused)
        end
        vim.notify("ferry: " .. result.path)
      end)
    end)
  end)
end

--- Runs what a command does; what it throws is a message.
local function command(act)
  return function(arguments)
    local ok, reason = pcall(act, arguments)
    if not ok then
      fail({ message = tostring(reason) })
    end
  end
end

--- Sets what differs from the settings above. The commands exist without it, too.
function M.setup(options)
  settings = vim.tbl_extend("force", settings, options or {})
end

--- Defines the commands; plugin/ferry.lua calls it.
function M.define()
  local create = vim.api.nvim_create_user_command
  create("FerryUpload", command(upload), { nargs = "?", range = true })
  create("FerryFiles", command(files), { nargs = "?" })
  create("FerryCancel", command(M.cancel), {})
  vim.api.nvim_create_autocmd("VimLeavePre", {
    group = vim.api.nvim_create_augroup("ferry", {}),
    callback = function()
      if client then
        client.close()
      end
    end,
  })
end

return M
