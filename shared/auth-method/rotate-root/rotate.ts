import { type Answer, answer, type CallOutcome, dataAnswer, type MountCall } from '../../api/call.ts'
import { ApiError, invalidRequestError } from '../../api/errors.ts'
import { subjectKeyOf, subjectOf } from '../../api/subject.ts'
import { readCurrentCluster } from '../../jobs/job.ts'
import type { AwsClientConfig } from '../../model/config.ts'
import type { ProviderSettings, RememberedKey } from '../../ports.ts'
import { replaceItem } from '../../storage/changes.ts'
import type { Item } from '../../storage/kinds.ts'
import type { Secret } from '../../values/secret.ts'
import { buildProviderSettings } from '../config/accounts.ts'
import { finishRotation } from './finish.ts'
import {
  clearKeyCreation,
  commitAllChanges,
  recordKeyCreation,
  releaseRotationGuard,
  rotationGuardChange,
  takeRotationGuard,
} from './guard.ts'

type Config = Item<'client-config'>

const IAM_CALL_TIMEOUT_MS = 5000
const ROTATION_TIMEOUT_MS = 10_000

/**
 * Handles POST config/rotate-root: creates a new access key for the configured user. After any failure or crash the configuration
 * still holds a working key, and the next call cleans up.
 * @see docs/spec/configuration.md#rotation-of-the-root-key
 */
export async function rotateRootCredentials(call: MountCall): Promise<CallOutcome> {
  configured(subjectOf(call, 'client-config'))
  try {
    const lostSince = await takeRotationGuard(call)
    // reads the configuration again, because another rotation may have replaced it before the guard was taken
    return answer(await rotate(call, configured(await readConfig(call)), lostSince))
  } finally {
    await releaseRotationGuard(call)
  }
}

function configured(config: Config | undefined): Config {
  if (!config) throw invalidRequestError('client credentials have not been configured')
  if (config.data.accessKey === '') throw invalidRequestError('no access key to rotate')
  if (!config.data.secretKey) throw invalidRequestError('no secret key to rotate')
  return config
}

async function rotate(call: MountCall, given: Config, lostSince: number): Promise<Answer> {
  const { cipher, accessKeys, clock } = call.ports
  const settings = await buildProviderSettings(given, cipher)
  const { userName } = await accessKeys.owner(settings, clock.now() + IAM_CALL_TIMEOUT_MS)
  if (userName === undefined)
    throw invalidRequestError(
      'the access key cannot be rotated, because it belongs to the root user of its account',
    )
  const config = given.data.previousSecretKey ? await clearUp(call, given, userName) : given
  await makeRoom(call, settings, userName, config.data.accessKey, lostSince)
  await recordKeyCreation(call)
  const made = await makeKey(call, settings, userName)
  const stored = await storeKey(call, config, settings, userName, made)
  const finish = await finishRotation(stored, userName, call.ports, ROTATION_TIMEOUT_MS)
  // if this commit fails, the configuration still names the deleted old key, and the hourly run removes it
  if (finish.state === 'finished') await commitAllChanges(call, [finish.change]).catch(() => undefined)
  return dataAnswer({ access_key: made.accessKey }, warningsOf(finish, config.data.accessKey))
}

function warningsOf(finish: Awaited<ReturnType<typeof finishRotation>>, old: string): string[] {
  if (finish.state === 'finished') return []
  const what =
    finish.state === 'left'
      ? 'could not be deleted, or a secondary does not have the new access key yet'
      : 'was kept, because AWS does not accept the new access key yet'
  return [`the old access key ${old} ${what}; the next rotation or the hourly run removes the old access key`]
}

/** Finishes an earlier rotation that left its old key, because IAM allows a user only two keys. */
async function clearUp(call: MountCall, config: Config, userName: string): Promise<Config> {
  const finish = await finishRotation(config, userName, call.ports, IAM_CALL_TIMEOUT_MS)
  if (finish.state !== 'finished') {
    throw invalidRequestError(
      `the last rotation is not finished: the access key ${config.data.previousAccessKey} still exists`,
    )
  }
  await commitAllChanges(call, [finish.change])
  return readConfig(call)
}

/** A key found within this window around the recorded creation time belongs to the crashed rotation. Milliseconds. */
const LOST_KEY_WINDOW_MS = { before: 60_000, after: 60_000 }

/** Ensures that the user has only the current key. Deletes a key that a crashed rotation created but never stored. */
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
      throw invalidRequestError(`the IAM user has another access key, ${one.accessKey}: delete it first`)
    await accessKeys.delete(settings, userName, one.accessKey, clock.now() + IAM_CALL_TIMEOUT_MS)
  }
}

const isLost = ({ createdAt }: RememberedKey, since: number): boolean =>
  since > 0 && createdAt > since - LOST_KEY_WINDOW_MS.before && createdAt < since + LOST_KEY_WINDOW_MS.after

/** Reports whether IAM denied the call. Listing keys is a permission that the user may lack. */
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

/** Creates an access key, without retries. If the response is lost, the next rotation finds and deletes the key. */
async function makeKey(call: MountCall, settings: ProviderSettings, userName: string): Promise<NewKey> {
  const { accessKeys, clock } = call.ports
  try {
    return await accessKeys.create(settings, userName, clock.now() + IAM_CALL_TIMEOUT_MS)
  } catch (error) {
    if (!isRefused(error)) throw error
    await clearKeyCreation(call)
    throw invalidRequestError(`a new access key could not be made: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

/**
 * Stores the new key pair and keeps the old key pair as fallback. If the commit fails, the rotation deletes the new
 * key again.
 */
async function storeKey(
  call: MountCall,
  config: Config,
  settings: ProviderSettings,
  userName: string,
  made: NewKey,
): Promise<Config> {
  const { cipher, store, accessKeys, clock } = call.ports
  const place = subjectKeyOf(call, 'client-config')
  const next: AwsClientConfig = {
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
  const note = rotationGuardChange(call, 0)
  const written = await store
    .commit([replaceItem(place, config, next), note], await readCurrentCluster(call.ports))
    .catch((error: unknown) => error)
  // A commit may succeed although it reported an error, so the stored configuration decides. If the configuration
  // cannot be read, both keys stay and the guard's record informs the next rotation.
  const [now] = await store.read([place])
  if (now?.data.accessKey === made.accessKey) return now
  await accessKeys.delete(settings, userName, made.accessKey, clock.now() + IAM_CALL_TIMEOUT_MS)
  throw written === 'conflict' ? changed() : written
}

const changed = () =>
  invalidRequestError('the client configuration changed during the rotation; nothing was rotated')

async function readConfig(call: MountCall): Promise<Config> {
  const [config] = await call.ports.store.read([subjectKeyOf(call, 'client-config')])
  if (!config) throw changed()
  return config
}
