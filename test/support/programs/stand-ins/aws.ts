// A stand-in for the AWS command line: makes the same API call with the SDK and the same arguments.

import { readFileSync, writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import * as lambda from '@aws-sdk/client-lambda'
import * as sfn from '@aws-sdk/client-sfn'

/** Command-line options without a value. */
const FLAGS = /^--(no-)?(disabled|inverted)$/

/** Turns `--name value` into `--name=value`. In the documents all options except flags have a value. */
function spread([word, ...rest]: readonly string[]): string[] {
  if (word === undefined) return []
  if (FLAGS.test(word)) return spread(rest)
  return word.startsWith('--') ? [`${word}=${rest[0]}`, ...spread(rest.slice(1))] : [word, ...spread(rest)]
}

/** Turns `start-execution` into `startExecution`. */
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
if (service === 'route53' && action === 'update-health-check') {
  await updated(process.argv.slice(2))
  process.exit()
}
if (service !== 'stepfunctions') throw new Error(`the stand-in for aws has no ${service}`)

const client = new sfn.SFN({ region: region ?? '', endpoint: endpoint ?? '' })
const calls = client as unknown as Record<string, (input: object) => Promise<object>>
const input = Object.fromEntries(Object.entries(given).map(([name, value]) => [camel(name), value]))
const answer = await calls[camel(action)]?.call(client, input)
if (!answer) throw new Error(`the stand-in for aws cannot do ${service} ${action}`)
process.stdout.write(`${JSON.stringify({ ...answer, $metadata: undefined }, null, 4)}\n`)

/** Calls `lambda invoke`. The event comes from a file, and the function's result goes to a file. */
async function invoked(): Promise<void> {
  const client = new lambda.Lambda({ region: region ?? '', endpoint: endpoint ?? '' })
  const { StatusCode, FunctionError, Payload } = await client.invoke({
    FunctionName: given['function-name'] ?? '',
    Payload: readFileSync((given['payload'] ?? '').replace('fileb://', '')),
  })
  writeFileSync(file, Payload ?? '')
  process.stdout.write(`${JSON.stringify({ StatusCode, FunctionError }, null, 4)}\n`)
}

/** Sends `route53 update-health-check` unsigned, because tests check only the content of the request. */
async function updated(words: readonly string[]): Promise<void> {
  const members = ['Disabled', 'Inverted'].flatMap(name => {
    const [flag] = words.filter(word => FLAGS.test(word) && word.endsWith(name.toLowerCase()))
    return flag === undefined ? [] : [`<${name}>${!flag.startsWith('--no-')}</${name}>`]
  })
  const body = `<UpdateHealthCheckRequest>${members.join('')}</UpdateHealthCheckRequest>`
  const path = `/2013-04-01/healthcheck/${given['health-check-id']}`
  const answer = await fetch(`${endpoint}${path}`, { method: 'POST', body })
  if (!answer.ok) throw new Error(await answer.text())
}
