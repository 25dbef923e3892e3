// The command line of AWS where there is none: the same call by the SDK, with the same arguments.

import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import * as lambda from '@aws-sdk/client-lambda'
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
const [service = '', action = '', file = ''] = positionals
if (service === 'lambda' && action === 'invoke') {
  await invoked()
  process.exit()
}
if (service !== 'stepfunctions') throw new Error(`the stand-in for aws has no ${service}`)

const client = new sfn.SFN({ region: region ?? '', endpoint: endpoint ?? '' })
const calls = client as unknown as Record<string, (input: object) => Promise<object>>
const input = Object.fromEntries(Object.entries(given).map(([name, value]) => [camel(name), value]))
const answer = await calls[camel(action)]?.call(client, input)
if (!answer) throw new Error(`the stand-in for aws cannot do ${service} ${action}`)
process.stdout.write(`${JSON.stringify({ ...answer, $metadata: undefined }, null, 4)}\n`)

/** `lambda invoke`: the event comes from a file, and what the function returns goes to one. */
async function invoked(): Promise<void> {
  const client = new lambda.Lambda({ region: region ?? '', endpoint: endpoint ?? '' })
  const { StatusCode, FunctionError, Payload } = await client.invoke({
    FunctionName: given['function-name'] ?? '',
    Payload: readFileSync((given['payload'] ?? '').replace('fileb://', '')),
  })
  writeFileSync(file, Payload ?? '')
  process.stdout.write(`${JSON.stringify({ StatusCode, FunctionError }, null, 4)}\n`)
}
