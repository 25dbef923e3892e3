// A stand-in for jq: the original program, compiled to WebAssembly.
import { readFileSync } from 'node:fs'
import { buffer } from 'node:stream/consumers'
import { raw } from 'jq-wasm'

const given = process.argv.slice(2)
const flags = given.filter(one => one.startsWith('-'))
const [filter = '.', ...files] = given.filter(one => !one.startsWith('-'))
const input =
  files.length > 0 ? files.map(one => readFileSync(one)).join('\n') : String(await buffer(process.stdin))
const { stdout, stderr, exitCode } = await raw(input, filter, flags)
if (stdout !== '') process.stdout.write(`${stdout}\n`)
if (stderr !== '') process.stderr.write(`${stderr}\n`)
process.exitCode = exitCode
