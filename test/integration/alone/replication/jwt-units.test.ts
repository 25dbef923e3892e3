import { readFileSync } from 'node:fs'
import { beforeAll, expect, test } from 'vitest'
import { checkoutRoot } from '../../../../infra/checkout.ts'
import { createInstanceEventHandler } from '../../../../shared/auth-method/ends/record-end.ts'
import { writeUnits } from '../../../bench/units.ts'
import { ISSUER_ID } from '../../../builders/web-token.ts'
import { asFunction } from '../../../support/iam/judge.ts'
import { listPrices } from '../../../support/prices/price-list.ts'
import { acceptUsualTokens, logInByToken, usualToken } from '../../../support/set/jwt-logins.ts'
import { type Warm, warmSnapshot } from '../../../support/set/play.ts'
import { type CallUnits, countUnits } from '../../../support/set/recorded-calls.ts'
import { clusterSet } from '../../../support/set/set.ts'

// Counts the calls and the write units of warm logins by token, which docs/look-up/limits.md lists.

let pair: Warm
beforeAll(async () => {
  pair = await warmSnapshot({ memory: true, names: ['east', 'west'] })
})

interface Recorded extends CallUnits {
  operation: string
  process: string
}

/** Starts clusters with a mount that accepts tokens, and lists the calls of all of them. */
async function startRecorded(names: readonly string[], { single_use, token_type, instances }: Form) {
  const calls: Recorded[] = []
  const set = await clusterSet(names, {
    ...(names.length > 1 ? { from: pair } : {}),
    memory: true,
    onCall: (call, { cluster, name }, answer) =>
      calls.push({
        operation: call.operation,
        process: `${cluster} ${name}`,
        ...countUnits(call, answer),
      }),
  })
  const fetches = await acceptUsualTokens(set, names, {
    config: { single_use },
    role: {
      token_type,
      ...(instances ? { bound_ec2_instance_id: instances, revoke_on_termination: true } : {}),
    },
  })
  const logIn = async (index: number) => {
    const token = usualToken(set, `token-${index}`, instanceClaim(instances?.[index]))
    expect(await logInByToken(set, names[0] ?? '', token)).toBe('200')
  }
  /** Returns the last journal entry with items of some kinds; undefined without a journal. */
  const entryWith = async (...kinds: string[]) => {
    const { journal } = set.at(names[0] ?? '').ports
    await set.settled()
    const head = await journal.head()
    const entries = head ? await journal.entries(head.lineage, head.last - 5, head.last) : []
    return entries.findLast(one => one?.body.some(({ kind }) => kinds.includes(kind)))
  }
  return { set, calls, fetches, logIn, entryWith }
}

/** Logs in twice, and records the calls of the second login. */
async function recordLogin(names: readonly string[], form: Form) {
  const { set, calls, fetches, logIn, entryWith } = await startRecorded(names, form)
  for (const index of [0, 1]) {
    await set.settled()
    calls.length = 0
    await logIn(index)
  }
  expect(fetches).toHaveLength(1)
  const own = calls.filter(({ process }) => process.startsWith(`${names[0]} `))
  return { own, entry: await entryWith('token', 'spent') }
}

const instanceClaim = (id: string | undefined): object =>
  id ? { ec2_source_instance_arn: `arn:aws:ec2:eu-west-1:111122223333:instance/${id}` } : {}

interface Form {
  title: string
  single_use: boolean
  token_type: string
  /** `instances` of the two logins at a role with `revoke_on_termination`; absent: another role */
  instances?: [string, string]
  /** write units: without a journal, with a journal, and on the secondary */
  units: [alone: number, primary: number, secondary: number]
}

const forms: readonly Form[] = [
  { title: 'jwt login', single_use: true, token_type: 'service', units: [6, 13, 11] },
  { title: 'jwt login, `single_use=false`', single_use: false, token_type: 'service', units: [2, 8, 6] },
  { title: 'jwt login, batch token', single_use: true, token_type: 'batch', units: [1, 8, 6] },
  {
    title: 'jwt login, batch token, `single_use=false`',
    single_use: false,
    token_type: 'batch',
    units: [0, 0, 0],
  },
  {
    title: 'jwt login, `single_use=false`, first login of an instance with `revoke_on_termination`',
    single_use: false,
    token_type: 'service',
    instances: ['i-0123456789abcdef0', 'i-0123456789abcdef1'],
    units: [6, 15, 13],
  },
]

const page = readFileSync(`${checkoutRoot}docs/look-up/limits.md`, 'utf8')
const pageRows = page.split('\n').filter(line => line.startsWith('| jwt login'))

test.each(forms)('$title: at most one commit, and the reads and write units of the page', async form => {
  const { title, units } = form
  const alone = await recordLogin(['east'], form)
  const replicated = await recordLogin(['east', 'west'], form)
  const [reads, writes] = [alone.own.filter(one => one.reads > 0), alone.own.filter(one => one.writes > 0)]
  // the record of the instance is read once the role is known
  const READ = 'BatchGetItem'
  expect(reads.map(({ operation }) => operation)).toEqual(form.instances ? [READ, READ] : [READ])
  expect(writes.length).toBe(units[0] === 0 ? 0 : 1)
  const written = writes.reduce((sum, one) => sum + one.writes, 0)
  const { primary, secondary } = replicated.entry
    ? writeUnits(replicated.entry)
    : { primary: 0, secondary: 0 }
  expect([written, primary, secondary]).toEqual(units)
  const million = (count: number) => (count * listPrices.writeUnit * 1e6).toFixed(2)
  const usd = units[0] === 0 ? '0' : `${million(primary)} + ${million(secondary)}`
  expect(pageRows).toContain(`| ${[title, writes.length, ...units, usd].join(' | ')} |`)
})

test('the end of an instance: one commit with the write units of the page, and its second event only reads', async () => {
  const form: Form = {
    title: 'end',
    single_use: false,
    token_type: 'service',
    instances: ['i-0123456789abcdef0', 'i-0123456789abcdef1'],
    units: [1, 7, 5],
  }
  const record = async (names: readonly string[]) => {
    const { set, calls, logIn, entryWith } = await startRecorded(names, form)
    await logIn(0)
    const own = async (state: string) => {
      await set.settled()
      calls.length = 0
      await asFunction('on-instance-event', () =>
        createInstanceEventHandler(set.at(names[0] ?? '').as('on-instance-event'))({
          source: 'aws.ec2',
          'detail-type': 'EC2 Instance State-change Notification',
          account: '111122223333',
          detail: { 'instance-id': form.instances?.[0], state },
        }),
      )
      return calls.filter(({ process }) => !process.includes('on-'))
    }
    const first = await own('shutting-down')
    const entry = await entryWith('instance')
    return { first, entry, second: await own('terminated') }
  }
  const [alone, replicated] = [await record(['east']), await record(['east', 'west'])]
  const READ = 'BatchGetItem'
  expect(alone.first.map(({ operation }) => operation)).toEqual([READ, READ, 'PutItem'])
  expect(alone.second.map(({ operation }) => operation)).toEqual([READ, READ])
  const { primary, secondary } = replicated.entry ? writeUnits(replicated.entry) : {}
  expect([alone.first.reduce((sum, one) => sum + one.writes, 0), primary, secondary]).toEqual(form.units)
  expect(page).toContain(
    `| end of an instance with \`revoke_on_termination\` | 1 | ${form.units.join(' | ')} |`,
  )
})

test('a forged token reads only what refuses it, once an environment has verified a token of its issuer', async () => {
  const read: string[][] = []
  const set = await clusterSet(['east'], {
    memory: true,
    onCall: ({ operation, input }) => {
      if (operation === 'BatchGetItem') read.push(namesOfKeys(input))
    },
  })
  await acceptUsualTokens(set, ['east'])
  expect(await logInByToken(set, 'east', usualToken(set, 'first'))).toBe('200')
  await set.settled()
  read.length = 0
  const [head, claims] = usualToken(set, 'second').split('.')
  const [, , signature] = usualToken(set, 'third').split('.')
  const forged = [head, claims, signature].join('.')
  expect(await logInByToken(set, 'east', forged)).toBe('400 the signature of the token is not valid')
  expect(read).toEqual([['auth', 'issuer', 'jwt', 'record']])
})

/** Returns the names that a batch read asks for, sorted. */
function namesOfKeys({ RequestItems }: Record<string, unknown>): string[] {
  const tables = Object.values(RequestItems as Record<string, { Keys: Record<'pk' | 'sk', { S: string }>[] }>)
  return tables.flatMap(({ Keys }) => Keys.map(({ sk }) => (sk.S === ISSUER_ID ? 'issuer' : sk.S))).toSorted()
}
