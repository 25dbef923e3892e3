import { cpus, totalmem } from 'node:os'
import { parseArgs } from 'node:util'
import { writerTo } from '../../../command/output.ts'
import { makeState } from '../../os/cluster-file.ts'
import { brokenIn, quartersOf } from './judge.ts'
import type { SoakPlan } from './plan.ts'
import { soak } from './soak.ts'

const HELP = `npm run soak [-- options]    two clusters under load and in bad weather, whose roles change

  --minutes N     how long (60)
  --planned N     minutes between planned switches (5)
  --forced N      minutes between promotions by force (15)
  --rate N        logins a second (50)
  --seed N        of the faults (1)

Ctrl-C ends it early, with a verdict on what was seen so far. It ends with 0 where nothing broke.
`

const options = {
  minutes: { type: 'string', default: '60' },
  planned: { type: 'string', default: '5' },
  forced: { type: 'string', default: '15' },
  rate: { type: 'string', default: '50' },
  seed: { type: 'string', default: '1' },
  help: { type: 'boolean', default: false },
} as const

const write = writerTo(process.stdout)
const complain = writerTo(process.stderr)
const print = (text: string): void => write(`${text}\n`)

/** @throws Error for what is no number */
function positive(name: string, text: string): number {
  const number = Number(text)
  if (!(number > 0)) throw new Error(`--${name} must be a number above 0`)
  return number
}

function planOf(values: Record<Exclude<keyof typeof options, 'help'>, string>): SoakPlan {
  const { minutes, planned, forced, rate, seed } = values
  return {
    minutes: positive('minutes', minutes),
    planned: positive('planned', planned),
    forced: positive('forced', forced),
    rate: positive('rate', rate),
    seed: positive('seed', seed),
  }
}

/** Ctrl-C ends it early, with what there is to tell; a second one at once. */
function stopped(): AbortSignal {
  const stop = new AbortController()
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.on(signal, () => {
      if (stop.signal.aborted) process.exit(1)
      print('It ends early: what was seen so far follows.')
      stop.abort()
    })
  return stop.signal
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options })
  if (values.help) return print(HELP)
  const plan = planOf(values)
  makeState()
  print(
    `${plan.minutes} minutes, ${plan.rate} logins a second, on ${cpus().length} processors with ${Math.round(totalmem() / 2 ** 30)} GiB; seed ${plan.seed}`,
  )
  const seen = await soak(plan, print, stopped())
  const { changes, leftOut, logins, failed, end, mostAtOnce, memory, weather } = seen
  const quarters = quartersOf(memory)
  const faults = Object.entries(weather).map(([name, count]) => `${count} × ${name}`)
  print(`
  changes of role      ${changes.length}, of which ${changes.filter(({ kind }) => kind === 'forced').length} by force; ${leftOut} left out
  logins               ${logins} acknowledged, ${failed} not
  primaries at once    ${mostAtOnce} at most
  lost, and named      ${changes.flatMap(({ lost }) => lost).length} of ${changes.reduce((sum, { looked }) => sum + looked, 0)} that were looked up
  faults               ${faults.join(', ')}
  at the end           ${typeof end === 'string' ? end : `both at position ${end.position}, root ${end.root}`}
  memory               ${quarters ? `${quarters.join(', ')} MiB, in the quarters of the time (the process of both clusters)` : 'too short to tell'}
`)
  const broken = brokenIn(seen)
  print(broken.length === 0 ? 'Nothing is broken.' : `Broken:\n${broken.map(one => `  ${one}`).join('\n')}`)
  // what still waits for answers is not waited for
  process.exit(broken.length === 0 ? 0 : 1)
}

try {
  await main()
} catch (error) {
  const text = error instanceof Error ? error.message : String(error)
  complain(`${text}; npm run soak -- --help tells the options\n`)
  process.exit(1)
}
