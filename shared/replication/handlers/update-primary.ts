import { type Call, type CallOutcome, noContentAnswer } from '../../api/call.ts'
import { listField } from '../../api/fields.ts'
import type { OperationState, PrimaryUpdate } from '../../model/operation.ts'
import type { AddressRules } from '../../values/member-address.ts'
import { awaitOperation, beginOperation, createOperationStart } from '../operation/operate.ts'
import {
  addressCountError,
  operationFailedError,
  parameterNeedsTokenError,
  updateAmbiguousError,
  updateMissingError,
} from '../operation/refusals.ts'
import { checkRoleTransition } from '../operation/transitions.ts'
import { parseMemberAddress } from './addresses.ts'
import { requireClusterRecord } from './record.ts'
import { becomeSecondaryFields, parseActivationToken } from './secondary.ts'

const { token, ...other } = becomeSecondaryFields
const { required: _, ...optional } = token

export const updatePrimaryFields = {
  token: { ...optional, doc: 'Activation token from the other primary; "": follow no primary' },
  ...other,
  update_primary_addrs: listField(
    'Addresses of the primary, in the order of the attempts; the existing credentials are used',
  ),
}

type Given = Pick<Call<typeof updatePrimaryFields>, 'parameters' | 'raw'>

const MOST_ADDRESSES = 16
/** Parameters that are only allowed with a token. */
const ofToken = ['primary_api_addr', 'ca_cert', 'ca_file', 'ca_path'] as const

/** Parses the parameters. @throws ApiError */
export function parsePrimaryUpdate({ parameters, raw }: Given, rules: AddressRules): PrimaryUpdate {
  // a null parameter does not mean to follow no primary
  const asked = raw['token'] === null ? undefined : parameters.token
  const addresses = parameters.update_primary_addrs ?? []
  if (asked !== undefined && addresses.length > 0) throw updateAmbiguousError()
  const misplaced = asked ? undefined : ofToken.find(name => parameters[name])
  if (misplaced) throw parameterNeedsTokenError(misplaced)
  if (asked !== undefined) return { form: asked === '' ? 'clear' : 'token', addresses: [] }
  if (parameters.update_primary_addrs === undefined) throw updateMissingError()
  if (addresses.length === 0 || addresses.length > MOST_ADDRESSES) throw addressCountError()
  const usable = addresses.map(one => parseMemberAddress(one, 'update_primary_addrs', rules))
  return { form: 'addresses', addresses: [...new Set(usable)] }
}

/**
 * Handles POST sys/replication/dr/secondary/update-primary: this secondary follows another primary of its set, or
 * no primary. The secondary keeps its items. The secondary undoes changes that the other primary does not have, and
 * GET sys/replication/dr/divergence lists them.
 */
export async function updatePrimary(call: Call<typeof updatePrimaryFields>): Promise<CallOutcome> {
  const { ports } = call
  const update = parsePrimaryUpdate(call, call.ports.deployment)
  const item = requireClusterRecord(call)
  checkRoleTransition('secondary/update-primary', call.cluster.record, {
    byAddresses: update.form === 'addresses',
  })
  const operating = createOperationStart(ports)
  const activation =
    update.form === 'token' ? { activation: await parseActivationToken(call, operating, item.data.set) } : {}
  await beginOperation(
    operating,
    item,
    { name: 'update-primary', step: 'find', primaryUpdate: update, ...activation },
    call,
  )
  const ended = await awaitOperation(operating.id, ports, ({ step }) => step === 'finish')
  if (ended.status === 'failed') throw operationFailedError(ended.fault)
  return { answer: noContentAnswer([describeUpdate(update.form, ended)]) }
}

function describeUpdate(form: PrimaryUpdate['form'], { primaryUpdate }: OperationState): string {
  if (form === 'clear')
    return 'this cluster follows no primary any more, and keeps its set and its items; give this cluster a token of a primary by update-primary, or promote this cluster with force'
  if (form === 'addresses')
    return `the primary answered at ${primaryUpdate?.foundAddresses?.[0] ?? ''}, and this cluster follows that address from now on`
  return 'from now on this cluster follows the primary that made the token, and keeps its items; this cluster undoes changes that the set does not have, and lists these changes in a report; GET sys/replication/dr/status shows the progress'
}
