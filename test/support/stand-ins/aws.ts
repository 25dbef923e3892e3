// The command line of AWS where there is none: the same call by the SDK, with the same arguments.
import { parseArgs } from 'node:util'
import * as sfn from '@aws-sdk/client-sfn'

/** `--name value` as `--name=value`: all options of the documents have a value. */
function spread([word, ...rest]: readonly string[]): string[] {
  if (word === undefined) return []
  return word.startsWith('--') ? [`${word}=${rest[0]}`, ...spread(rest.slice(1))] : [word, ...spread(rest)]
}

/** `start-execution` as `startExecution` */
const camel = (text: string): string => text.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase())

const { values, positionals } = parseArgs({
  args: spread(process.argv.slice(2)),
  strict: false,
  allowPositionals: true,
})
const { region, 'endpoint-url': endpoint, ...given } = values as Record<string, string>
const [service = '', action = ''] = positionals
if (service !== 'stepfunctions') throw new Error(`the stand-in for aws has no ${service}`)

const client = new sfn.SFN({ region: region ?? '', endpoint: endpoint ?? '' })
const calls = client as unknown as Record<string, (input: object) => Promise<object>>
const input = Object.fromEntries(Object.entries(given).map(([name, value]) => [camel(name), value]))
const answer = await calls[camel(action)]?.call(client, input)
if (!answer) throw new Error(`the stand-in for aws cannot do ${service} ${action}`)
process.stdout.write(`${JSON.stringify({ ...answer, $metadata: undefined }, null, 4)}\n`)
