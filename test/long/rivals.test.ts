import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { setTimeout } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ClusterStateFile } from '../../infra/local/os/cluster-file.ts'
import { readDrStatus, requestReplication, waitUntilTrue } from '../../infra/local/pair/dr-client.ts'
import { generateTokenByShares } from '../../infra/local/pair/token-by-shares.ts'
import { type LinkTap, startLinkTap } from '../support/faults/link-tap.ts'
import { cleanUp, clusterFile, freshCluster, startIn } from '../support/programs/npm-start.ts'
import { call } from '../support/service/api.ts'

// Three processes, each reachable only through a proxy. Two secondaries are promoted by force while no call
// arrives. After both promotions calls arrive late, and one cluster's clock may be ten minutes ahead. ROUNDS=20 npm
// run test:long -- long/rivals

const ROUNDS = Number(process.env['ROUNDS'] ?? 6)
const DELAYS = [2400, 5000, 9000]
const TEN_MINUTES = 600_000
const POLICY = { policy: 'path "a" { capabilities = ["read"] }' }

interface Member extends ClusterStateFile {
  name: string
  tap: LinkTap
  /** sets the milliseconds by which its clock is ahead */
  setClock: (ms: number) => void
}

const directory = mkdtempSync(`${tmpdir()}/cloud-auth-`)
const members: Member[] = []

/**
 * Returns a module that a process loads first. It sets the process's clock ahead by the milliseconds
 * in a file.
 */
const clockOf = (file: string): string => `
const { readFileSync } = require('node:fs')
const Real = Date
let [ahead, readAt] = [0, 0]
const now = () => {
  if (Real.now() - readAt > 100) [ahead, readAt] = [Number(readFileSync(${JSON.stringify(file)}, 'utf8')), Real.now()]
  return Real.now() + ahead
}
globalThis.Date = class Date extends Real {
  constructor(...given) { if (given.length > 0) super(...given); else super(now()) }
  static now() { return now() }
}
`

async function startMember(name: string): Promise<Member> {
  const [file, preload] = [`${directory}/${name}.ms`, `${directory}/${name}.cjs`]
  const setClock = (ms: number) => writeFileSync(file, String(ms))
  setClock(0)
  writeFileSync(preload, clockOf(file))
  const cluster = freshCluster(`rivals-${name}`)
  const run = startIn({ NODE_OPTIONS: `--require=${preload}` }, '--cluster', cluster, '--port', '0')
  await run.until('Serving.')
  const found = clusterFile(cluster)
  return { ...found, name, setClock, tap: await startLinkTap(new URL(found.base_url).origin) }
}

/** Returns a cluster with the address of its proxy, which other clusters use from then on. */
const behindTap = (member: Member): Member => ({ ...member, base_url: `${member.tap.url}/v1` })

const write = async ({ base_url, root_token: token }: Member, policy: string): Promise<number> =>
  (await call(base_url, 'POST', `/sys/policies/acl/${policy}`, POLICY, { token })).status

const follows = (member: Member) =>
  waitUntilTrue(
    `${member.name} does not follow`,
    async () => (await readDrStatus(member)).state === 'stream-wals',
  )

let ids = 0
async function activation(primary: Member): Promise<string | undefined> {
  const answer = await requestReplication(primary, 'primary/secondary-token', { id: `secondary-${++ids}` })
  return answer.wrap_info?.token
}

beforeAll(async () => {
  for (const name of ['east', 'west', 'north']) members.push(await startMember(name))
  const [east, ...others] = members as [Member, ...Member[]]
  await requestReplication(east, 'primary/enable', { primary_cluster_addr: east.tap.url })
  for (const other of others) {
    await waitUntilTrue('no token is made yet', async () => !(await readDrStatus(east)).isBuilding)
    await requestReplication(behindTap(other), 'secondary/enable', { token: await activation(east) })
    await follows(other)
    Object.assign(other, { root_token: east.root_token, recovery_keys: east.recovery_keys })
  }
})
afterAll(async () => {
  cleanUp()
  for (const { tap } of members) await tap.close()
  rmSync(directory, { recursive: true, force: true })
})

/** Waits until only one cluster accepts writes. Returns this cluster with the milliseconds of the wait. */
async function untilOneWrites(): Promise<{ winner: Member; took: number }> {
  const began = Date.now()
  for (;;) {
    const answers = await Promise.all(members.map(one => write(one, `of-${one.name}`)))
    const winners = members.filter((_, index) => answers[index] === 204)
    if (winners.length === 1 && winners[0]) return { winner: winners[0], took: Date.now() - began }
    if (Date.now() > began + 180_000) throw new Error(`they never agree: ${answers}`)
    await setTimeout(250)
  }
}

const rounds = Array.from({ length: ROUNDS }, (_, round) => ({
  round,
  late: DELAYS[round % DELAYS.length] as number,
  ahead: Math.floor(round / DELAYS.length) % 2 === 0 ? 0 : TEN_MINUTES,
}))
let primary: Member

test.each(rounds)(
  'round $round: with calls $late ms late and a clock $ahead ms ahead, one primary remains within 30 s',
  async ({ round, late, ahead }) => {
    primary ??= members[0] as Member
    const rivals = members.filter(one => one !== primary)
    const tokens = new Map<Member, string>()
    for (const rival of rivals) tokens.set(rival, await generateTokenByShares(rival))
    for (const { tap } of members) tap.cut('both')
    ;(members[round % members.length] as Member).setClock(ahead)
    for (const rival of rivals) {
      const body = { dr_operation_token: tokens.get(rival), force: true, primary_cluster_addr: rival.tap.url }
      await requestReplication(rival, 'secondary/promote', body)
    }
    expect(await Promise.all(members.map(one => write(one, 'before')))).toEqual([204, 204, 204])
    await setTimeout(1000 * ((7 * round) % 20))
    for (const { tap } of members) {
      tap.heal()
      tap.arrange({ kind: 'delay', ms: late, times: Number.POSITIVE_INFINITY })
    }
    const { winner, took } = await untilOneWrites()
    process.stdout.write(
      `round ${round}: ${late} ms late, ${ahead} ms ahead: ${winner.name} after ${took} ms\n`,
    )
    expect(took).toBeLessThan(30_000)

    // for the next round all other clusters follow the remaining primary
    for (const one of members) {
      one.setClock(0)
      one.tap.heal()
    }
    primary = winner
    for (const other of members.filter(one => one !== winner)) {
      const operation = await generateTokenByShares(other)
      const body = { dr_operation_token: operation, token: await activation(winner) }
      await requestReplication(other, 'secondary/update-primary', body)
      await follows(other)
    }
  },
)
