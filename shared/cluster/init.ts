import { type AlwaysServedCall, answer, type CallOutcome } from '../api/call.ts'
import { invalidRequestError } from '../api/errors.ts'
import { intField, listField, type SuppliedParameters, textField } from '../api/fields.ts'
import { type ClusterRecord, setRecordKeyring } from '../model/cluster.ts'
import type { Mount, MountTable } from '../model/mount.ts'
import { generateServiceTokenText } from '../model/token.ts'
import { createMount, storeMounts } from '../mounts/store.ts'
import { createItem } from '../storage/changes.ts'
import { key } from '../storage/kinds.ts'
import { issueServiceToken } from '../tokens/mint.ts'
import { createRootToken } from '../tokens/root-token.ts'
import { defined } from '../values/defined.ts'
import { encryptForEachPgpKey, pgpFingerprintOf } from './pgp.ts'
import { newRecoveryKey } from './recovery.ts'
import { checkShareDivision, type ShareDivision } from './shares.ts'
import { createTermItems } from './terms.ts'

export const initFields = {
  recovery_shares: intField('Number of recovery key shares; default 5'),
  recovery_threshold: intField('Shares needed together; default 3'),
  recovery_pgp_keys: listField('OpenPGP public keys that encrypt the shares, one for each share'),
  root_token_pgp_key: textField('OpenPGP public key that encrypts the root token'),
  stored_shares: intField('Accepted and ignored'),
  secret_shares: intField('Not used: KMS keeps the keys'),
  secret_threshold: intField('Not used: KMS keeps the keys'),
  pgp_keys: listField('Not used: KMS keeps the keys'),
}

type InitParameters = SuppliedParameters<typeof initFields>

const DEFAULTS: ShareDivision = { shares: 5, threshold: 3 }

/**
 * Handles PUT sys/init: creates the keyring, the recovery key, the root token and the first mounts in one commit.
 * @see docs/spec/cluster.md#initialisation
 */
export async function initialiseNewCluster(call: AlwaysServedCall<typeof initFields>): Promise<CallOutcome> {
  const { parameters, ports, now } = call
  if (call.cluster) throw alreadyDone()
  const division = divisionOf(parameters)
  const pgpFingerprints = await fingerprintsOf(parameters)
  await checkHolders(parameters, ports.deployment.initPgpKeys, pgpFingerprints)
  const { keyring: made, terms } = await ports.keyFactory.newKeyring(now)
  const unkeyed: Omit<ClusterRecord, 'keyring' | 'term' | 'keyringEdition'> = {
    id: ports.entropy.uuid(),
    name: ports.deployment.clusterName,
    mode: 'disabled',
    initialisedAt: now,
  }
  const { record, keyring } = setRecordKeyring(unkeyed, made)
  const { item: recovery, shares } = newRecoveryKey(division, {
    random: ports.entropy.bytes,
    now,
    ...defined({ pgpFingerprints }),
  })
  const root = generateServiceTokenText(ports.entropy.bytes)
  const handedOut = await buildInitAnswer(shares, root.reveal(), parameters)
  const changes = [
    createItem(key('cluster'), record),
    createItem(key('keyring'), keyring),
    ...createTermItems(terms, [], now, record),
    createItem(key('recovery-key'), recovery),
    ...storeMounts(undefined, firstMounts(ports.entropy.uuid)),
    ...issueServiceToken(createRootToken(now), root).changes,
  ]
  const written = await ports.store.commit(changes, { record, readAt: now })
  if (written !== 'done') throw alreadyDone()
  return answer({ kind: 'plain', status: 200, body: handedOut })
}

const alreadyDone = () => invalidRequestError('the cluster is already initialised')

function divisionOf(parameters: InitParameters): ShareDivision {
  // official clients send all parameters, with neutral values for parameters that do not apply
  const other = parameters.secret_shares
    ? 'secret_shares'
    : parameters.secret_threshold
      ? 'secret_threshold'
      : parameters.pgp_keys?.length
        ? 'pgp_keys'
        : undefined
  if (other)
    throw invalidRequestError(
      `${other} does not apply: KMS keeps the keys; use recovery_shares and recovery_threshold`,
    )
  const shares = parameters.recovery_shares ?? DEFAULTS.shares
  const threshold =
    parameters.recovery_threshold ?? (parameters.recovery_shares === 1 ? 1 : DEFAULTS.threshold)
  checkShareDivision({ shares, threshold })
  if (parameters.recovery_pgp_keys?.length && parameters.recovery_pgp_keys.length !== shares) {
    throw invalidRequestError('recovery_pgp_keys must name one key for each share')
  }
  return { shares, threshold }
}

/** Returns the fingerprints of the keys that encrypt the shares; undefined if the shares are returned unencrypted. */
const fingerprintsOf = async ({
  recovery_pgp_keys: keys = [],
}: InitParameters): Promise<readonly string[] | undefined> =>
  keys.length === 0
    ? undefined
    : Promise.all(keys.map((one, index) => pgpFingerprintOf(one, `recovery_pgp_keys: key ${index + 1}`)))

/**
 * Checks the OpenPGP keys if the deployment names the key holders. Each holder must get one share, and one holder
 * must get the root token. Because shares and token are encrypted for the holders, the first caller of the function
 * learns nothing.
 */
async function checkHolders(
  { root_token_pgp_key: rootKey = '' }: InitParameters,
  holders: readonly string[],
  prints: readonly string[] = [],
): Promise<void> {
  if (holders.length === 0) return
  if (prints.toSorted().join() !== holders.toSorted().join())
    throw invalidRequestError(
      `recovery_pgp_keys must be exactly the keys in this deployment’s settings, each once: ${holders.join(', ')}`,
    )
  const rootPrint = rootKey === '' ? '' : await pgpFingerprintOf(rootKey, 'root_token_pgp_key')
  if (!holders.includes(rootPrint))
    throw invalidRequestError('root_token_pgp_key must be one of the keys in this deployment’s settings')
}

/**
 * Returns the answer with the shares in hex and base64. An encrypted share contains the share's hex text.
 * @see docs/spec/cluster.md#recovery-shares
 */
async function buildInitAnswer(
  shares: readonly Buffer[],
  root: string,
  parameters: InitParameters,
): Promise<Record<string, unknown>> {
  const hex = shares.map(share => share.toString('hex'))
  const keys = parameters.recovery_pgp_keys?.length
    ? await encryptForEachPgpKey(hex, parameters.recovery_pgp_keys, 'recovery_pgp_keys')
    : shares
  const [rootMessage] = parameters.root_token_pgp_key
    ? await encryptForEachPgpKey([root], [parameters.root_token_pgp_key], 'root_token_pgp_key')
    : []
  return {
    keys: [],
    keys_base64: [],
    recovery_keys: keys.map(one => one.toString('hex')),
    recovery_keys_base64: keys.map(one => one.toString('base64')),
    root_token: rootMessage?.toString('base64') ?? root,
  }
}

const firstMounts = (uuid: () => string): MountTable => {
  const token: Mount = createMount(
    { path: 'token', type: 'token', description: 'token based credentials' },
    uuid(),
  )
  const cloud: Mount = createMount(
    { path: 'cloud', type: 'cloud', description: 'login of AWS workloads' },
    uuid(),
  )
  return { mounts: [token, cloud], removing: [] }
}
