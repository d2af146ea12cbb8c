--- Places in buffers where something is under way: they move with the text, and show how far it is.

local M = {}

local namespace = vim.api.nvim_create_namespace("ferry")

--- A place at the end of a line (from 0).
function M.new(buffer, line)
  local mark = { id = vim.api.nvim_buf_set_extmark(buffer, namespace, line, 0, {}) }

  local function row()
    if not vim.api.nvim_buf_is_valid(buffer) then
      return nil
    end
    return vim.api.nvim_buf_get_extmark_by_id(buffer, namespace, mark.id, {})[1]
  end

  --- Shows a text behind the line.
  function mark.show(text)
    local at = row()
    if at then
      local virtual = { { text, "Comment" } }
      vim.api.nvim_buf_set_extmark(buffer, namespace, at, 0, { id = mark.id, virt_text = virtual })
    end
  end

  --- Takes the place away and, where there is a text, puts that on a line of its own below it.
  function mark.finish(text)
    local at = row()
    if not at then
      return
    end
    vim.api.nvim_buf_del_extmark(buffer, namespace, mark.id)
    if text and vim.api.nvim_buf_get_option(buffer, "modifiable") then
      vim.api.nvim_buf_set_lines(buffer, at + 1, at + 1, false, { text })
    end
  end

  return mark
end

--- What is shown behind the lines of a buffer, for tests.
function M.shown(buffer)
  local marks = vim.api.nvim_buf_get_extmarks(buffer, namespace, 0, -1, { details = true })
  return vim.tbl_map(function(mark) return mark[4].virt_text and mark[4].virt_text[1][1] end, marks)
end

return M
