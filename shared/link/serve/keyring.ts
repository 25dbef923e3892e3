import type { Item } from '../../storage/kinds.ts'
import type { Reply } from '../methods.ts'
import { readPublicKey } from '../pair.ts'
import type { AdmittedCall, LinkPorts } from './ports.ts'

/** The present keyring, sealed to the secondary that asks. */
export async function sealKeyring(
  { set, secondary }: AdmittedCall & { secondary: Item<'secondary'> },
  { cipher }: Pick<LinkPorts, 'cipher'>,
): Promise<Reply<'Keyring'>> {
  const keys = readPublicKey(secondary.data.publicKey ?? '')
  if (!keys) throw new Error('a secondary that passed the checks has keys')
  return cipher.exportTo(keys.exchange, set)
}
