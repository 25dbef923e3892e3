import { type Answer, answer, data, type MountCall, type Outcome } from '../../api/call.ts'
import { ApiError, invalid } from '../../api/errors.ts'
import { subjectKeyOf, subjectOf } from '../../api/subject.ts'
import { currentCluster } from '../../jobs/job.ts'
import type { ClientConfig } from '../../model/config.ts'
import type { KnownKey, ProviderSettings } from '../../ports.ts'
import { replace } from '../../storage/changes.ts'
import type { Item } from '../../storage/kinds.ts'
import type { Secret } from '../../values/secret.ts'
import { providerSettings } from '../config/accounts.ts'
import { finishRotation } from './finish.ts'
import {
  clearKeyCreation,
  commitAll,
  guardChange,
  recordKeyCreation,
  releaseGuard,
  takeGuard,
} from './guard.ts'

type Config = Item<'client-config'>

const IAM_CALL_TIMEOUT_MS = 5000
const ROTATION_TIMEOUT_MS = 10_000

/**
 * POST config/rotate-root: a new access key for the configured user. Whatever fails, and wherever a crash
 * comes, the configuration holds a key that works, and the next call clears up.
 * @see docs/spec/configuration.md#rotation-of-the-root-key
 */
export async function rotateRoot(call: MountCall): Promise<Outcome> {
  configured(subjectOf(call, 'client-config'))
  try {
    const lostSince = await takeGuard(call)
    // what was read before may be what another rotation has replaced since
    return answer(await rotate(call, configured(await readConfig(call)), lostSince))
  } finally {
    await releaseGuard(call)
  }
}

function configured(config: Config | undefined): Config {
  if (!config) throw invalid('client credentials have not been configured')
  if (config.data.accessKey === '') throw invalid('no access key to rotate')
  if (!config.data.secretKey) throw invalid('no secret key to rotate')
  return config
}

async function rotate(call: MountCall, given: Config, lostSince: number): Promise<Answer> {
  const { cipher, accessKeys, clock } = call.ports
  const settings = await providerSettings(given, cipher)
  const { userName } = await accessKeys.owner(settings, clock.now() + IAM_CALL_TIMEOUT_MS)
  if (userName === undefined)
    throw invalid('the access key belongs to the root user of its account, which cannot be rotated')
  const config = given.data.previousSecretKey ? await clearUp(call, given, userName) : given
  await makeRoom(call, settings, userName, config.data.accessKey, lostSince)
  await recordKeyCreation(call)
  const made = await makeKey(call, settings, userName)
  const stored = await storeKey(call, config, settings, userName, made)
  const finish = await finishRotation(stored, userName, call.ports, ROTATION_TIMEOUT_MS)
  // should this fail, the new key stands with a note of an old one that is gone: the hourly run clears it up
  if (finish.state === 'finished') await commitAll(call, [finish.change]).catch(() => undefined)
  return data({ access_key: made.accessKey }, warningsOf(finish, config.data.accessKey))
}

function warningsOf(finish: Awaited<ReturnType<typeof finishRotation>>, old: string): string[] {
  if (finish.state === 'finished') return []
  const what =
    finish.state === 'left'
      ? 'could not be deleted, or a secondary does not have the new one yet'
      : 'was kept, because AWS does not accept the new one yet'
  return [`the old access key ${old} ${what}; the next rotation or the hourly run removes it`]
}

/** An earlier rotation has left its old key: it has to go before the user can have another new one. */
async function clearUp(call: MountCall, config: Config, userName: string): Promise<Config> {
  const finish = await finishRotation(config, userName, call.ports, IAM_CALL_TIMEOUT_MS)
  if (finish.state !== 'finished') {
    throw invalid(
      `the last rotation is not finished: the access key ${config.data.previousAccessKey} is still there`,
    )
  }
  await commitAll(call, [finish.change])
  return readConfig(call)
}

/** A key that a crashed rotation made came into being within this time of its note, milliseconds. */
const LOST_KEY_WINDOW_MS = { before: 60_000, after: 60_000 }

/** The user may have one key only; one that an earlier rotation made and lost is deleted. */
async function makeRoom(
  call: MountCall,
  settings: ProviderSettings,
  userName: string,
  current: string,
  lostSince: number,
): Promise<void> {
  const { accessKeys, clock } = call.ports
  const known = await accessKeys
    .list(settings, userName, clock.now() + IAM_CALL_TIMEOUT_MS)
    .catch(unlessRefused)
  for (const one of known?.filter(found => found.accessKey !== current) ?? []) {
    if (!isLost(one, lostSince))
      throw invalid(`the IAM user has another access key, ${one.accessKey}: delete it first`)
    await accessKeys.delete(settings, userName, one.accessKey, clock.now() + IAM_CALL_TIMEOUT_MS)
  }
}

const isLost = ({ createdAt }: KnownKey, since: number): boolean =>
  since > 0 && createdAt > since - LOST_KEY_WINDOW_MS.before && createdAt < since + LOST_KEY_WINDOW_MS.after

/** IAM answered, and said no: to list keys is a permission that the user need not have. */
const isRefused = (error: unknown): boolean =>
  error instanceof ApiError && error.reason?.['why'] === 'provider-refused'

function unlessRefused(error: unknown): undefined {
  if (!isRefused(error)) throw error
  return undefined
}

interface NewKey {
  accessKey: string
  secretKey: Secret
}

/** Never repeated: when the answer is lost, the key it told of is found and deleted by the next rotation. */
async function makeKey(call: MountCall, settings: ProviderSettings, userName: string): Promise<NewKey> {
  const { accessKeys, clock } = call.ports
  try {
    return await accessKeys.create(settings, userName, clock.now() + IAM_CALL_TIMEOUT_MS)
  } catch (error) {
    if (!isRefused(error)) throw error
    await clearKeyCreation(call)
    throw invalid(`a new access key could not be made: ${(error as Error).message}`, { cause: error })
  }
}

/** Stores the new pair, with the old one behind it; if that fails, the new key is deleted again. */
async function storeKey(
  call: MountCall,
  config: Config,
  settings: ProviderSettings,
  userName: string,
  made: NewKey,
): Promise<Config> {
  const { cipher, store, accessKeys, clock } = call.ports
  const place = subjectKeyOf(call, 'client-config')
  const next: ClientConfig = {
    ...config.data,
    accessKey: made.accessKey,
    secretKey: await cipher.encrypt(place, 'secretKey', made.secretKey.reveal()),
    previousAccessKey: config.data.accessKey,
    previousSecretKey: await cipher.encrypt(
      place,
      'previousSecretKey',
      settings.credentials?.secretKey.reveal() ?? '',
    ),
  }
  const note = guardChange(call, 0)
  const written = await store
    .commit([replace(place, config, next), note], await currentCluster(call.ports))
    .catch((error: unknown) => error)
  // A commit that seemed to fail may have been done: what is stored decides. Should that not be readable
  // either, both keys stay: the note tells the next rotation.
  const [now] = await store.read([place])
  if (now?.data.accessKey === made.accessKey) return now
  await accessKeys.delete(settings, userName, made.accessKey, clock.now() + IAM_CALL_TIMEOUT_MS)
  throw written === 'conflict' ? changed() : written
}

const changed = () => invalid('the client configuration changed during the rotation; nothing was rotated')

async function readConfig(call: MountCall): Promise<Config> {
  const [config] = await call.ports.store.read([subjectKeyOf(call, 'client-config')])
  if (!config) throw changed()
  return config
}
