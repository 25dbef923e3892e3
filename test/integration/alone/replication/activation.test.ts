import { createServer } from 'node:http'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { createLocalAuthority } from '../../../../infra/local/gateway/tls.ts'
import { closeServer, listenOnLoopback } from '../../../../infra/local/os/loopback.ts'
import { createLinkCarrier } from '../../../../shared/adapters/link/carrier.ts'
import { createLinkHandler } from '../../../../shared/http/link.ts'
import type { OperationState } from '../../../../shared/model/operation.ts'
import type { OperationRun, OperationStep } from '../../../../shared/replication/operation/run.ts'
import { type ConnectToPeer, createPeerConnector } from '../../../../shared/replication/secondary/connect.ts'
import { putItem, replaceItem } from '../../../../shared/storage/changes.ts'
import { key } from '../../../../shared/storage/kinds.ts'
import type { EncryptedText } from '../../../../shared/values/secret.ts'
import { operationWorkflows } from '../../../../shared/workers/operations.ts'
import { policyAt } from '../../../builders/journal.ts'
import { startLinkTap } from '../../../support/faults/link-tap.ts'
import { linkGateway } from '../../../support/set/link.ts'
import { operationRunAt } from '../../../support/set/operation-run.ts'
import {
  admitting,
  asAlone,
  asPrimary,
  commit,
  everythingOf,
  type Member,
  member,
  newSet,
} from '../../../support/set/pair.ts'
import { Crash, crashes } from '../../../support/tables/crash.ts'
import { primaryWorld } from '../../../unit/link/serve/world.ts'

const OPERATION = '0c0ffee0-0000-4000-8000-000000000001'
const STEPS = ['handshake', 'close', 'wipe', 'sync', 'serve']
/** A policy of west before the activation, with a field that west's own keyring encrypted. */
const OLD = key('client-config', 'old')

let east: Member
let west: Member
let connect: ConnectToPeer
let secret: EncryptedText
let token: string

beforeEach(async () => {
  const clock = { ms: Date.now() }
  ;[east, west] = await Promise.all([member(clock), member(clock)])
  const set = newSet()
  connect = admitting(east, set)
  await asAlone(east)
  await asPrimary(east)
  await asAlone(west)
  secret = await east.cipher.encrypt(key('client-config', 'm'), 'secretKey', 'of the set')
  for (let n = 0; n < 20; n++) await commit(east, [policyAt(`p${n}`), `${n}`])
  token = set.token('west', clock.ms)
  await begun(token)
})

/**
 * Stores the state that an administrator's request leaves: an operation with a token, and the cluster's
 * earlier items.
 */
async function begun(given: string, { address = 'http://east.inside', ca = 'PEM' } = {}): Promise<void> {
  const [record] = await west.store.read([key('cluster')])
  if (!record) throw new Error('not initialised')
  const at = { record: record.data, readAt: west.turn.ms }
  const place = key('operation', OPERATION)
  const state: OperationState = {
    name: 'activation',
    status: 'running',
    step: 'handshake',
    startedAt: west.turn.ms,
    changedAt: west.turn.ms,
    activation: {
      token: await west.cipher.encrypt(place, 'token', given),
      primaryApiAddr: address,
      ca,
      address: 'https://west.example',
    },
  }
  const secretKey = await west.cipher.encrypt(OLD, 'secretKey', 'of west alone')
  await west.store.commit(
    [
      putItem(place, state),
      replaceItem(record, record, { ...record.data, operation: OPERATION }),
      putItem(OLD, { secretKey } as never),
      ...Array.from({ length: 30 }, (_, n) => putItem(key('policy', `old${n}`), { text: 'old' } as never)),
    ],
    at,
  )
}

const audited: Record<string, unknown>[] = []
let woken = 0

const runOf = (watched: <T extends object>(port: T) => T = port => port): OperationRun =>
  operationRunAt(west, watched, {
    connect,
    audit: entry => void audited.push(entry),
    wake: () => void woken++,
  })

const steps: Readonly<Record<string, OperationStep>> = operationWorkflows.activation.steps

/** Runs all steps of the activation, as the workflow does. */
async function takeSteps(run: OperationRun, names: readonly string[] = STEPS): Promise<void> {
  for (const name of names)
    for (let tries = 0; (await steps[name]?.(run, OPERATION))?.next === 'again'; tries++)
      if (tries > 50) throw new Error(`${name} never ends`)
}

const recordOf = async () => {
  const [record, operation] = await west.store.read([key('cluster'), key('operation', OPERATION)])
  if (!record || !operation) throw new Error('no record')
  west.cipher.expectKeyring(record.data)
  return { record: record.data, operation: operation.data }
}

/** Checks that all items of west from before the activation still exist, and can be decrypted. */
async function isOld(): Promise<void> {
  const { record } = await recordOf()
  expect(record).toMatchObject({ mode: 'disabled' })
  expect(record).not.toHaveProperty('link')
  expect((await everythingOf(west)).items.length).toBe(31)
  const [config] = await west.store.read([OLD])
  const opened = await west.cipher.decrypt(OLD, 'secretKey', config?.data.secretKey as EncryptedText)
  expect(opened.reveal()).toBe('of west alone')
}

/** Checks that west has exactly east's items, and can decrypt fields with the set's keyring. */
async function isNew(): Promise<void> {
  const { record } = await recordOf()
  const mine = await everythingOf({ ...west, treeId: record.treeId ?? '' })
  const theirs = await everythingOf(east)
  expect(mine.items).toEqual(theirs.items)
  expect(mine.kept).toEqual(mine.right)
  expect(mine.kept).toEqual(theirs.kept)
  const opened = await west.cipher.decrypt(key('client-config', 'm'), 'secretKey', secret)
  expect(opened.reveal()).toBe('of the set')
}

describe('the activation of a secondary', () => {
  test('gives the cluster the keys and items of the set, and removes the cluster’s former keys and items', async () => {
    await takeSteps(runOf())
    await isNew()
    const { record, operation } = await recordOf()
    expect(record).toMatchObject({
      mode: 'secondary',
      treeId: OPERATION,
      observedAddr: 'https://west.example',
    })
    const addrs = ['http://east.inside', 'http://east']
    expect(record.link).toMatchObject({
      secondaryId: 'west',
      primaryAddr: 'http://east',
      primaryAddrs: addrs,
      ca: 'PEM',
    })
    expect(record).not.toHaveProperty('operation')
    expect(operation).toMatchObject({ status: 'done' })
    expect(woken, 'and goes on to follow at once').toBe(1)
    expect(JSON.stringify(operation)).not.toContain('token')
    expect(await west.store.read([key('pending-link'), key('pending-key')])).toEqual([undefined, undefined])
    expect(audited.map(({ event }) => event)).toEqual(['activated', 'wiped', 'following'])
  })

  test('that the primary refuses changes nothing', async () => {
    connect = () => ({
      ...admitting(east, newSet())({} as never),
      activate: async () => {
        throw new Error('nobody answers')
      },
    })
    await expect(takeSteps(runOf())).rejects.toThrow('nobody answers')
    await operationWorkflows.activation.failed(runOf(), OPERATION, {
      code: 'internal',
      text: 'nobody answers',
    })
    await isOld()
    expect((await recordOf()).operation).toMatchObject({
      status: 'failed',
      fault: { text: 'nobody answers' },
    })
  })

  test('can be cancelled before the wipe of the tables; the cluster then serves as before', async () => {
    await takeSteps(runOf(), ['handshake', 'close'])
    expect((await recordOf()).record.mode).toBe('bootstrapping')
    await operationWorkflows.activation.failed(runOf(), OPERATION, { code: 'internal', text: 'given up' })
    await isOld()
  })
})

/**
 * Runs the steps in processes that die one after the other. Each process dies one call later than the
 * previous process.
 */
async function killedAtEveryCall(
  names: readonly string[],
  afterEachDeath: () => Promise<void>,
): Promise<number> {
  for (let at = 1; ; at++)
    for (const when of ['before', 'after'] as const) {
      const { watched } = crashes(at, when)
      const died = await takeSteps(runOf(watched), names).then(
        () => false,
        error => {
          if (!(error instanceof Crash)) throw error
          return true
        },
      )
      if (!died) return at
      await afterEachDeath()
    }
}

describe('a process of an activation dies', () => {
  test('at any call: all old data stays until the keys change, and the next execution completes the activation', async () => {
    const deaths = await killedAtEveryCall(STEPS, async () => {
      if ((await recordOf()).record.treeId !== OPERATION)
        expect((await everythingOf(west)).items.filter(item => item.includes('old')).length).toBe(31)
    })
    expect(deaths).toBeGreaterThan(10)
    await isNew()
    expect((await recordOf()).record).toMatchObject({ mode: 'secondary', treeId: OPERATION })
  })

  test('and the operation fails during the wipe: the next execution completes the activation', async () => {
    await takeSteps(runOf(), ['handshake', 'close'])
    await operationWorkflows.activation.steps.wipe(runOf(), OPERATION)
    await operationWorkflows.activation.failed(runOf(), OPERATION, { code: 'internal', text: 'given up' })
    const { record, operation } = await recordOf()
    expect(record).toMatchObject({ mode: 'bootstrapping', treeId: OPERATION, operation: OPERATION })
    expect(operation).toMatchObject({ status: 'running', fault: { text: 'given up' } })
    await takeSteps(runOf())
    await isNew()
    expect((await recordOf()).record).not.toHaveProperty('operation')
  })

  test('and the operation fails before the wipe: all old data stays', async () => {
    for (let at = 1; at < 40; at++) {
      const { watched } = crashes(at, at % 2 ? 'before' : 'after')
      const died = await takeSteps(runOf(watched), ['handshake', 'close']).then(
        () => false,
        () => true,
      )
      await operationWorkflows.activation.failed(runOf(), OPERATION, { code: 'internal', text: 'given up' })
      await isOld()
      if (!died) return
      await begun(token)
    }
    expect.unreachable()
  })
})

describe('an activation over TLS that a load balancer in front of the primary terminates', () => {
  const authority = createLocalAuthority('an organisation')
  const onHost = { plainEndpoints: true }

  /**
   * Runs the handshake through a load balancer with its own certificate, trusting the given authorities.
   * @returns why the handshake failed
   */
  async function handshakeBy(ca: string, names?: readonly string[]): Promise<string | undefined> {
    const primary = await primaryWorld()
    primary.clock.ms = west.turn.ms
    Object.assign(primary.ports.deployment, onHost)
    Object.assign(primary.ports.cipher, { exportTo: east.cipher.exportTo })
    const server = createServer(linkGateway(createLinkHandler(primary.ports)))
    const tap = await startLinkTap(await listenOnLoopback(server), authority.issue('a balancer', names))
    onTestFinished(async () => {
      await tap.close()
      await closeServer(server)
    })
    await begun(await primary.token('west'), { address: tap.url, ca })
    connect = createPeerConnector(createLinkCarrier({ deployment: onHost }), { ...west, deployment: onHost })
    return takeSteps(runOf(), ['handshake']).then(
      () => undefined,
      async ({ message }: Error) => {
        expect((await primary.secondary('west'))?.activatedAt, 'its token counts still').toBeUndefined()
        await operationWorkflows.activation.failed(runOf(), OPERATION, { code: 'internal', text: message })
        return message
      },
    )
  }

  test('succeeds if the cluster trusts the authority of the load balancer’s certificate', async () => {
    expect(await handshakeBy(authority.cert)).toBeUndefined()
    const [pending] = await west.store.read([key('pending-link')])
    expect(pending?.data).toMatchObject({ operation: OPERATION, secondaryId: 'west' })
  })

  test.each<[name: string, ca: () => string, names: string[] | undefined, text: RegExp]>([
    ['no authority', () => '', undefined, /unable to (verify|get)/],
    ['another authority', () => createLocalAuthority('another').cert, undefined, /unable to (verify|get)/],
    ['a certificate for another host', () => authority.cert, ['elsewhere.example'], /is not in the cert/],
  ])('%s fails with its reason, and nothing is lost', async (_, ca, names, text) => {
    const why = await handshakeBy(ca(), names)
    expect(why).toMatch(/^error unwrapping the secondary token: no answer to Activate: https:/)
    expect(why).toMatch(text)
    await isOld()
  })
})
