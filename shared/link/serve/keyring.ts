import type { Item } from '../../storage/kinds.ts'
import type { MethodReply } from '../methods.ts'
import { parseLinkPublicKeys } from '../pair.ts'
import type { AdmittedLinkCall, LinkServerPorts } from './ports.ts'

/** Exports the present keyring, sealed to the secondary that asks. */
export async function sealKeyring(
  { set, secondary }: AdmittedLinkCall & { secondary: Item<'secondary'> },
  { cipher }: Pick<LinkServerPorts, 'cipher'>,
): Promise<MethodReply<'Keyring'>> {
  const keys = parseLinkPublicKeys(secondary.data.publicKey ?? '')
  if (!keys) throw new Error('an admitted secondary has no public keys')
  return cipher.exportTo(keys.exchange, set)
}
