import { randomBytes } from 'node:crypto'
import type { LocalHost } from '../../infra/local/host/host.ts'
import { generateServiceTokenText, type Token } from '../../shared/model/token.ts'
import { type Change, createItem } from '../../shared/storage/changes.ts'
import { key } from '../../shared/storage/kinds.ts'
import { issueServiceToken } from '../../shared/tokens/mint.ts'
import { createRootToken } from '../../shared/tokens/root-token.ts'
import { call } from '../support/service/api.ts'
import { tableStore } from '../support/tables/store.ts'
import type { Load } from './served.ts'
import { whereIs } from './where.ts'
import { iamLogin, type World } from './world.ts'

interface Tools {
  print(text: string): void
  results: Record<string, unknown>
  load: Load
  /** draws the result, by name */
  draw(title: string, at: readonly number[], curves: Record<string, number[]>): void
}

const SECONDS = 5
const WARM_UP = 2
const CLIENTS = 16
/** The number of items of a commit and of concurrent commits that fill the tables. */
const COMMIT = { items: 50, atOnce: 8 }

/** `--growth 1000,100000`: measures how long logins take with these numbers of tokens and roles. */
export async function growthBench(
  host: LocalHost,
  world: World,
  sizes: readonly number[],
  { print, results, load, draw }: Tools,
): Promise<void> {
  print(`Logins among tokens and roles, ${CLIENTS} clients: half of them and 99 of 100 within`)
  const curves: Record<string, number[]> = {}
  const seeded = await seeding(host)
  let held = 0
  for (const size of sizes) {
    await seeded(size - held)
    held = size
    // earlier signatures may have expired while the tables were filled
    const bodies = { ec2: world.ec2, iam: [await iamLogin(host)] }
    for (const type of ['ec2', 'iam'] as const) {
      const order = { url: `${host.base_url}/auth/cloud/login`, bodies: bodies[type], concurrency: CLIENTS }
      await load({ ...order, seconds: WARM_UP })
      const run = await load({ ...order, seconds: SECONDS })
      results[`growth ${type} ${size}`] = run
      for (const part of ['p50', 'p99'] as const)
        curves[`${type} ${part}`] = [...(curves[`${type} ${part}`] ?? []), run[part]]
      print(
        `  ${String(size).padStart(7)} of each   ${type}   ${run.p50.toFixed(0)} and ${run.p99.toFixed(0)} ms   (${run.perSecond.toFixed(0)}/s, refused ${run.refused})`,
      )
    }
  }
  draw('latency of logins among so many tokens and roles, ms', sizes, curves)
}

/** @returns a function that stores `count` more tokens, and as many more roles */
async function seeding(host: LocalHost): Promise<(count: number) => Promise<void>> {
  const { store, commit } = tableStore(whereIs(host))
  const mount = await call(host.base_url, 'GET', '/sys/auth/cloud', undefined, { token: host.root_token })
  const accessor = String(mount.body.data.accessor)
  const [fleet] = await store.read([key('role', accessor, 'fleet')])
  if (!fleet) throw new Error('the fleet has no role')
  const { data: role } = fleet
  const token: Token = {
    ...createRootToken(Date.now()),
    policies: ['dev'],
    ttl: 2_764_800,
    creationTtl: 2_764_800,
  }
  let made = 0
  const another = (): Change[] => {
    made += 1
    const text = generateServiceTokenText(randomBytes)
    return [
      ...issueServiceToken(token, text).changes,
      createItem(key('role', accessor, `role-${made}`), role),
    ]
  }
  return async count => {
    for (let left = count; left > 0; left -= (COMMIT.items / 2) * COMMIT.atOnce)
      await Promise.all(
        Array.from({ length: COMMIT.atOnce }, () =>
          commit(...Array.from({ length: COMMIT.items / 2 }, another).flat()),
        ),
      )
  }
}
