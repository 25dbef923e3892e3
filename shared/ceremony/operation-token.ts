import { answer, answerAfter, type Call, data, type Outcome } from '../api/call.ts'
import { text } from '../api/fields.ts'
import { makeTokenText } from '../model/token.ts'
import { createCeremony, shareFields } from './attempt.ts'
import { unmaskToken } from './encode.ts'
import { revokeOperationToken, storeOperationToken } from './generated-token.ts'
import { batchTokenNotRevocableError, invalidMaskedTokenError } from './refusals.ts'
import { notifyWatcher } from './watch.ts'

export const operationShareFields = {
  ...shareFields,
  nonce: text('The nonce of the attempt', { secret: true, required: true }),
}

/** The handlers of sys/replication/dr/secondary/generate-operation-token, which create a token for operating this DR secondary. */
export const operationCeremony = createCeremony({
  purpose: 'operation',
  notify: notifyWatcher,
  make: call => {
    const token = makeTokenText(call.ports.entropy.bytes)
    return { text: token.reveal(), changes: [storeOperationToken(token, call.cluster.record, call.now)] }
  },
})

/** Handles POST sys/replication/dr/secondary/operation-token/delete: revokes the token in the body. */
export function deleteOperationToken({ operator }: Call): Outcome {
  if (operator !== 'generated') throw batchTokenNotRevocableError()
  return answerAfter([revokeOperationToken()])
}

export const decodeFields = {
  encoded_token: text('Masked token, as the last share was answered', { secret: true, required: true }),
  otp: text('One-time password of the attempt', { secret: true, required: true }),
}

/** Handles POST sys/decode-token. The result depends on the parameters only. */
export function decodeToken({
  parameters: { encoded_token = '', otp = '' },
}: Call<typeof decodeFields>): Outcome {
  const token = unmaskToken(encoded_token, otp)
  if (token === undefined) throw invalidMaskedTokenError()
  return answer(data({ token }))
}
