--- One test in a headless Neovim: $FERRY_TEST names it, $FERRY_FRAMING the framing. The folder of
--- the test is the working directory. Exit code 0: it passed.

local ferry = require("ferry")
local marks = require("ferry.marks")

local notices = {}
vim.notify = function(message, level)
  table.insert(notices, { message = message, level = level })
end

local function write(path, content)
  local file = assert(io.open(path, "wb"))
  file:write(content)
  file:close()
end

local function read(path)
  local file = assert(io.open(path, "rb"))
  local content = file:read("*a")
  file:close()
  return content
end

local function until_true(what, condition)
  if not vim.wait(20000, condition, 5) then
    error(what .. " did not happen; notices: " .. vim.inspect(notices), 2)
  end
end

local function equal(found, wanted)
  if not vim.deep_equal(found, wanted) then
    error(("found %s, wanted %s"):format(vim.inspect(found), vim.inspect(wanted)), 2)
  end
end

local function lines() return vim.api.nvim_buf_get_lines(0, 0, -1, false) end

--- Calls a function that ends with a callback, and waits for it.
local function wait_for(call)
  local got
  call(function(...) got = { ... } end)
  until_true("the callback", function() return got ~= nil end)
  return got[1], got[2]
end

local function content_of(channel, index)
  local _, files = wait_for(function(done) ferry.files(channel, done) end)
  local file = files[index or 1]
  local err, result = wait_for(function(done) ferry.download(channel, file, nil, done) end)
  equal(err, nil)
  return read(result.path), file
end

local function link(file) return ("<%s %d>"):format(file.name, file.size) end

local function setup(options)
  local base = {
    framing = vim.env.FERRY_FRAMING,
    channel = "room",
    link = link,
    config = { stateDir = vim.fn.getcwd() .. "/state" },
  }
  ferry.setup(vim.tbl_extend("force", base, options or {}))
end

local tests = {}

function tests.file()
  setup()
  write("notes ü.txt", "one\ntwo\nthree\n")
  vim.cmd("edit notes\\ ü.txt")
  vim.api.nvim_win_set_cursor(0, { 2, 0 })
  vim.cmd("FerryUpload")
  -- The place moves with the text.
  vim.api.nvim_buf_set_lines(0, 0, 0, false, { "zero" })
  until_true("the link", function() return #lines() == 5 end)
  equal(lines(), { "zero", "one", "two", "<notes ü.txt 14>", "three" })
  equal(vim.fn.getreg('"'), "<notes ü.txt 14>")
  equal(marks.shown(0), {})
  local content, file = content_of("room")
  equal(content, "one\ntwo\nthree\n")
  equal(file.name, "notes ü.txt")
  equal(notices, {})
end

function tests.unsaved()
  setup()
  write("notes.txt", "old\n")
  vim.cmd("edit notes.txt")
  vim.api.nvim_buf_set_lines(0, 0, -1, false, { "new", "text" })
  vim.cmd("FerryUpload other")
  until_true("the link", function() return #lines() == 3 end)
  equal(lines(), { "new", "<notes.txt 9>", "text" })
  equal((content_of("other")), "new\ntext\n")
end

function tests.selection()
  setup()
  vim.api.nvim_buf_set_lines(0, 0, -1, false, { "alpha beta", "gamma", "dälta" })
  vim.cmd("normal! gg6lvjj0l")
  vim.cmd([[execute "normal! \<Esc>"]])
  vim.cmd("'<,'>FerryUpload")
  until_true("the link", function() return #lines() == 4 end)
  equal(lines()[4], "<untitled.txt 14>")
  equal((content_of("room")), "beta\ngamma\ndä")
  vim.cmd("1,2FerryUpload lines")
  until_true("the second link", function() return #lines() == 5 end)
  equal(lines()[3], "<untitled.txt 17>")
  equal((content_of("lines")), "alpha beta\ngamma\n")
end

function tests.progress()
  setup({
    config = {
      stateDir = vim.fn.getcwd() .. "/state",
      limits = { uploadRate = 2000000 },
    },
  })
  write("large.bin", ("x"):rep(1500000))
  vim.cmd("enew")
  local seen = {}
  local err, file = wait_for(function(done)
    ferry.upload({ path = vim.fn.getcwd() .. "/large.bin" }, nil, done, function(progress)
      table.insert(seen, { progress.percent, ferry.status() })
    end)
  end)
  equal(err, nil)
  equal(file.size, 1500000)
  assert(#seen > 2, vim.inspect(seen))
  equal(seen[1][2], ("large.bin %d%%"):format(seen[1][1]))
  equal(seen[#seen][1], 100)
  equal(ferry.status(), "")
end

function tests.cancel()
  setup({
    config = {
      stateDir = vim.fn.getcwd() .. "/state",
      limits = { uploadRate = 100000 },
    },
  })
  write("large.txt", ("x\n"):rep(1000000))
  vim.cmd("edit large.txt")
  vim.cmd("FerryUpload")
  until_true("progress", function() return (marks.shown(0)[1] or ""):match("^↑ %d+ %%$") end)
  vim.cmd("FerryCancel")
  until_true("the end", function() return #marks.shown(0) == 0 end)
  equal(#lines(), 1000000)
  equal(#notices, 1)
  assert(notices[1].message:match("cancelled"), notices[1].message)
  local _, files = wait_for(function(done) ferry.files("room", done) end)
  equal(files, {})
end

function tests.download()
  setup()
  local content = ("\0\1\2ü\n"):rep(1000)
  write("a.bin", content)
  for _, name in ipairs({ "first.bin", "../.second" }) do
    local source = { path = vim.fn.getcwd() .. "/a.bin", name = name }
    equal((wait_for(function(done) ferry.upload(source, nil, done) end)), nil)
  end
  local offered
  vim.ui.select = function(items, options, choose)
    offered = vim.tbl_map(options.format_item, items)
    choose(items[2])
  end
  vim.fn.mkdir("inbox")
  setup({ folder = "inbox" })
  vim.cmd("FerryFiles")
  until_true("the download", function() return #notices == 1 end)
  equal(offered, { "first.bin  (6000 bytes)", "../.second  (6000 bytes)" })
  local folder = vim.fn.getcwd() .. "/inbox/"
  local path = notices[1].message:match("^ferry: (.*)$")
  equal(path:sub(1, #folder), folder)
  assert(not path:sub(#folder + 1):find("/"), path)
  equal(read(path), content)
  -- The same again is in the way, and is not overwritten.
  vim.cmd("FerryFiles")
  until_true("the refusal", function() return #notices == 2 end)
  equal(notices[2].level, vim.log.levels.ERROR)
  assert(notices[2].message:match("exists already"), notices[2].message)
  vim.cmd("FerryFiles nobody")
  until_true("the third notice", function() return #notices == 3 end)
  equal(notices[3].message, "ferry: the channel has no files")
end

function tests.pages()
  setup()
  local left = 250
  for n = 1, left do
    ferry.upload({ text = "x", name = n .. ".txt" }, nil, function() left = left - 1 end)
  end
  until_true("all uploads", function() return left == 0 end)
  local _, files = wait_for(function(done) ferry.files(nil, done) end)
  equal(#files, 250)
end

function tests.death()
  setup()
  equal((wait_for(function(done) ferry.files(nil, done) end)), nil)
  local children = read(("/proc/%d/task/%d/children"):format(vim.fn.getpid(), vim.fn.getpid()))
  local pid = tonumber(children:match("%d+"))
  -- Stopped, it answers nothing more; then it is killed.
  vim.loop.kill(pid, "sigstop")
  local err
  ferry.files(nil, function(refused) err = refused end)
  vim.loop.kill(pid, "sigkill")
  until_true("the error", function() return err ~= nil end)
  equal(err.data.code, "CLIENT_PROCESS_DIED")
  assert(err.message:match("^ferry "), err.message)
  equal((wait_for(function(done) ferry.files(nil, done) end)), nil)
end

function tests.missing()
  setup({ bin = "/nowhere/ferry" })
  vim.cmd("FerryFiles")
  equal(#notices, 1)
  assert(notices[1].message:match("/nowhere/ferry"), notices[1].message)
  vim.cmd("FerryUpload")
  equal(#notices, 2)
  equal(marks.shown(0), {})
end

--- Leaves with an upload under way: the caller sees whether a process is left.
function tests.leaving()
  setup({
    config = {
      stateDir = vim.fn.getcwd() .. "/state",
      limits = { uploadRate = 100000 },
    },
  })
  write("large.bin", ("x"):rep(3000000))
  local moved = false
  ferry.upload({ path = vim.fn.getcwd() .. "/large.bin" }, nil, function() end, function()
    moved = true
  end)
  until_true("progress", function() return moved end)
  local children = read(("/proc/%d/task/%d/children"):format(vim.fn.getpid(), vim.fn.getpid()))
  write("pid", children:match("%d+"))
end

local passed, reason = xpcall(tests[vim.env.FERRY_TEST], debug.traceback)
if not passed then
  io.stderr:write(tostring(reason) .. "\n")
  vim.cmd("cquit 1")
end
vim.cmd("qall!")
