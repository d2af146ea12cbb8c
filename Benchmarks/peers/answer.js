// The same work as `ping` in the fewest lines: parse each line, answer it.
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id } = JSON.parse(line)
  process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result: {} }) + '\n')
})
