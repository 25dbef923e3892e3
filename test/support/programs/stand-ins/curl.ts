// A stand-in for curl with the options that the pages use. The stand-in rejects other options.
import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    silent: { type: 'boolean', short: 's' },
    'show-error': { type: 'boolean', short: 'S' },
    'fail-with-body': { type: 'boolean' },
    request: { type: 'string', short: 'X' },
    header: { type: 'string', short: 'H', multiple: true, default: [] },
    data: { type: 'string', short: 'd' },
    'dump-header': { type: 'string', short: 'D' },
  },
})
const { data, request = data === undefined ? 'GET' : 'POST', header, 'dump-header': dump } = values
const [url] = positionals
if (url === undefined || positionals.length > 1 || data?.startsWith('@'))
  throw new Error('the stand-in for curl cannot do this')

const lines = header.flatMap(one =>
  one.startsWith('@') ? readFileSync(one.slice(1), 'utf8').trim().split('\n') : [one],
)
const headers = new Headers(
  lines.map(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]),
)
if (data !== undefined && !headers.has('content-type'))
  headers.set('content-type', 'application/x-www-form-urlencoded')
try {
  const answer = await fetch(url, { method: request, headers, body: data ?? null })
  const answered = [...answer.headers].map(one => one.join(': '))
  if (dump) writeFileSync(dump, [`HTTP/1.1 ${answer.status}`, ...answered, '', ''].join('\r\n'))
  process.stdout.write(await answer.text())
  if (values['fail-with-body'] && answer.status >= 400) {
    process.stderr.write(`curl: (22) The requested URL returned error: ${answer.status}\n`)
    process.exitCode = 22
  }
} catch (error) {
  process.stderr.write(`curl: (7) ${(error as Error).cause}\n`)
  process.exitCode = 7
}
