import { parseArgs } from 'node:util'
import { createTerminalWriter } from '../../../command/output.ts'
import { requireStateDirectory } from '../../os/cluster-file.ts'
import {
  type DrillRehearsal,
  type PlayedPart,
  runDisasterDrill,
  runSwitchDrill,
  startDrillRehearsal,
} from './drill.ts'
import { formatDrill, judgeDrill } from './verdict.ts'

const HELP = `npm run drill [-- options]    planned switch, the way back, and a disaster, on two clusters under load

  --json    print the result as one JSON object; progress goes to standard error, as always

The drill takes about three minutes and keeps no files. Its exit code is 0 if the drill passed, else 1. Ctrl-C ends the drill early.
`

const options = {
  json: { type: 'boolean', default: false },
  help: { type: 'boolean', default: false },
} as const

const began = Date.now()
const print = createTerminalWriter(process.stdout)
const complain = createTerminalWriter(process.stderr)

/** Prints progress with the elapsed seconds on standard error. */
function say(text: string): void {
  const seconds = Math.round((Date.now() - began) / 1000)
  complain(`[${String(seconds).padStart(3)} s] ${text}\n`)
}

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

/** Ends the clusters and then the drill on Ctrl-C. A second Ctrl-C has no effect. */
function closing(rehearsal: DrillRehearsal): () => Promise<void> {
  let closed: Promise<void> | undefined
  const close = () => {
    closed ??= rehearsal.close()
    return closed
  }
  const end = () => process.exit(1)
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => {
      say('Ending both clusters.')
      close().then(end, end)
    })
  return close
}

/** Rehearses on two clusters of this machine without stored state. @param played receives the result of each part */
async function drill(played: PlayedPart[]): Promise<void> {
  say('Starting east and west. West needs about a minute before it follows east.')
  const rehearsal = await startDrillRehearsal({ port: 0, memory: true, unlisted: true }, say)
  const close = closing(rehearsal)
  try {
    await runSwitchDrill(rehearsal, played)
    const disaster = await runDisasterDrill(rehearsal)
    played.push({ part: 'Disaster: east is cut off, and west promoted by force', ...disaster })
  } finally {
    say('Ending both clusters.')
    await close()
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options })
  if (values.help) return void process.stdout.write(HELP)
  requireStateDirectory()
  const played: PlayedPart[] = []
  const fault = await drill(played).then(() => undefined, textOf)
  const result = judgeDrill(played, fault)
  print(`${values.json ? JSON.stringify(result, null, 2) : formatDrill(result)}\n`)
  process.exitCode = result.verdict === 'passed' ? 0 : 1
}

try {
  await main()
} catch (error) {
  complain(`${textOf(error)}; see npm run drill -- --help\n`)
  process.exitCode = 1
}
