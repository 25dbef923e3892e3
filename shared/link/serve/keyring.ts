import type { Item } from '../../storage/kinds.ts'
import type { Reply } from '../methods.ts'
import { readPublicKey } from '../pair.ts'
import type { AdmittedCall, LinkPorts } from './ports.ts'

/** Exports the present keyring, sealed to the secondary that asks. */
export async function sealKeyring(
  { set, secondary }: AdmittedCall & { secondary: Item<'secondary'> },
  { cipher }: Pick<LinkPorts, 'cipher'>,
): Promise<Reply<'Keyring'>> {
  const keys = readPublicKey(secondary.data.publicKey ?? '')
  if (!keys) throw new Error('an admitted secondary has no public keys')
  return cipher.exportTo(keys.exchange, set)
}
