import { createRemoteControl } from '../../../infra/local/provider/control.ts'
import type { TestKey } from '../../provider/hand-signer.ts'
import { clock } from '../service/clock.ts'
import { fresh } from '../service/cluster.ts'
import { ownHost } from '../service/own-host.ts'
import { signedBy } from './logins.ts'

export const ORGANIZATION = 'o-a1b2c3d4e5'
export const ROOT = `${ORGANIZATION}/r-ab12`
export const MANAGEMENT = '300000000000'

/** Returns the ID of an account of the organization, by its number. */
export const accountAt = (index: number): string => String(300_000_000_001 + index)

const AT_ONCE = 50

/** Runs work on each number below `count`, fifty at a time. */
async function each(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  for (let at = 0; at < count; at += AT_ONCE)
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - at) }, (_, index) => work(at + index)))
}

/**
 * Starts a service and an organization of many accounts. The service has a clock that can jump over pauses, so a
 * round takes no minutes.
 * @param pathOf returns the path of an account
 * @param seconds that a background job may run
 */
export async function organizationHost(accounts: number, pathOf: (index: number) => string, seconds: number) {
  const lines: Record<string, unknown>[] = []
  const host = await ownHost({
    clock,
    timeouts: { 'on-job': seconds },
    onLine: line => {
      if (line.startsWith('{')) lines.push(JSON.parse(line))
    },
  })
  const aws = createRemoteControl(host.provider_url, host.control_token)
  const organizationId = ORGANIZATION
  await aws.putOrganization({ account: MANAGEMENT, organizationId, path: ROOT, management: true })
  await each(accounts, index =>
    aws.putOrganization({ account: accountAt(index), organizationId, path: pathOf(index) }),
  )
  return { host, aws, lines, ...createTools(host, aws), ...createLogins(host, aws) }
}

type Host = Awaited<ReturnType<typeof ownHost>>
type Control = ReturnType<typeof createRemoteControl>

const createSend = (host: Host) => async (method: string, path: string, body?: unknown) => {
  const reply = await host.api(method, path, body)
  if (reply.status >= 300) throw new Error(`${method} ${path}: ${reply.status} ${reply.text}`)
  return reply
}

/** The tools that change and read the map of a mount. */
function createTools(host: Host, aws: Control) {
  const ok = createSend(host)
  const tables = () => {
    if (!host.tap) throw new Error('the host has no tap')
    return host.tap.tap
  }

  /** Returns the number of commits during some work. */
  async function commitsDuring(work: () => Promise<unknown>): Promise<number> {
    tables().reset()
    await work()
    return tables()
      .calls()
      .filter(({ operation }) => /^(Transact|Put)/.test(operation)).length
  }

  /** Configures the organization at a mount. Returns after the first round. */
  async function configure(path: string, more: object = {}): Promise<void> {
    const { arn } = await aws.putRole({
      account: MANAGEMENT,
      name: 'cloud-auth-organization',
      externalId: 'x',
    })
    clock.skip()
    await ok('POST', `${path}/config/organization`, { role: arn, external_id: 'x', ...more })
    await host.settled()
  }

  async function mountAt(): Promise<{ path: string; accessor: string }> {
    const name = fresh('m')
    await ok('POST', `/sys/auth/${name}`, { type: 'cloud' })
    const { accessor } = (await ok('GET', `/sys/auth/${name}`)).body.data
    return { path: `/auth/${name}`, accessor }
  }

  /** Runs a round as the schedule does. */
  async function round(accessor: string, payload: object = {}): Promise<void> {
    clock.skip()
    await host.invoke('on-job', { job: 'organization', mount: accessor, ...payload })
    await host.settled()
  }

  const stateOf = async (path: string) => (await ok('GET', `${path}/config/organization`)).body.data

  return { ok, tables, commitsDuring, configure, mountAt, round, stateOf }
}

/** The tools that log in. */
function createLogins(host: Host, aws: Control) {
  const ok = createSend(host)

  async function keyIn(account: string): Promise<TestKey> {
    const user = fresh('u')
    await aws.putUser({ account, name: user })
    return aws.createAccessKey({ account, user })
  }

  const loginAt = async (path: string, body: object) => host.api('POST', `${path}/login`, body, { token: '' })

  /** Logs a user of an account in. Returns the status and the errors. */
  async function login(path: string, role: string, account: string): Promise<string> {
    const { status, body } = await loginAt(path, { role, ...signedBy(await keyIn(account)) })
    return `${status} ${(body.errors ?? []).join('; ')}`.trim()
  }

  async function roleAt(path: string, values: object): Promise<string> {
    const role = fresh('r')
    await ok('POST', `${path}/role/${role}`, values)
    return role
  }

  return { keyIn, loginAt, login, roleAt }
}
