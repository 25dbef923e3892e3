import type { Call } from '../../api/call.ts'
import { DR_REPLICATION, readLicence } from '../../api/licence.ts'
import { FORMAT } from '../../link/source.ts'
import { wasKept } from '../../model/cluster.ts'
import { isMethod } from '../../model/mount.ts'
import { type Item, key, partitions } from '../../storage/kinds.ts'
import { printTime } from '../../values/time.ts'
import { type PlacedSetting, placedInConfig, placedRole } from './region.ts'

/** Settings that are named; of more there is a count. */
const MOST_SETTINGS = 200
/** Partitions that are read at once. */
const AT_ONCE = 16

/** Stored settings that hold in one region, or for one deployment, and not wherever this set may move. */
async function placedSettings({ ports, mounts }: Call): Promise<PlacedSetting[]> {
  const { store, deployment } = ports
  const methods = mounts.mounts.filter(isMethod)
  const configs = await store.read(methods.map(({ accessor }) => key('client-config', accessor)))
  const found = methods.flatMap(({ path }, index) => {
    const config = configs[index] as Item<'client-config'> | undefined
    return config ? placedInConfig(`auth/${path}/config/client`, config.data, deployment) : []
  })
  for (let from = 0; from < methods.length && found.length < MOST_SETTINGS; from += AT_ONCE) {
    const some = methods.slice(from, from + AT_ONCE)
    const roles = await Promise.all(some.map(({ accessor }) => store.list(partitions('sts-role', accessor))))
    for (const [index, { path }] of some.entries())
      for (const { sk, data } of roles[index] ?? [])
        found.push(...placedRole(`auth/${path}/config/sts/${sk}`, data, deployment))
  }
  return found.slice(0, MOST_SETTINGS)
}

/** What both roles tell of themselves. */
export async function ownPart(call: Call) {
  const { store, deployment } = call.ports
  const [recovery] = await store.read([key('recovery-key')])
  const { shares = 0, threshold = 0 } = recovery?.data ?? {}
  // who was a member while the key was stored can make shares
  const rekey_needed = recovery !== undefined && wasKept(recovery.data)
  return {
    versions: { version: deployment.version, api_version: deployment.apiVersion, format: FORMAT },
    recovery: { shares, threshold, rekey_needed },
    region: { own: deployment.region, settings: await placedSettings(call) },
    license: licencePart(deployment.license, call.now),
  }
}

/** What needs a licence that has not ended: a former primary comes back by a token of its successor. */
function licencePart(license: Call['ports']['deployment']['license'], now: number) {
  const licensing = readLicence(license)
  if ('fault' in licensing) return { ends: '', seconds_left: 0, text: licensing.fault }
  const { endsAt, features } = licensing.licence
  const left = Math.max(0, endsAt - Math.floor(now / 1000))
  const text = features.includes(DR_REPLICATION)
    ? left > 0
      ? ''
      : 'it has ended: a promotion goes on, and no cluster gets a token to follow the new primary'
    : `it does not name ${DR_REPLICATION}`
  return { ends: printTime(endsAt * 1000), seconds_left: left, text }
}

/** What is presented of the keyring: whether fields of every term that was tried could be decrypted just now. */
export const keyringPart = (
  { opened, failed }: { readonly opened: number; readonly failed: readonly string[] },
  term: number,
) => ({ opens: opened > 0 && failed.length === 0, fields_tried: opened + failed.length, failed, term })
