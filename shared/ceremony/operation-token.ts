import { answer, answerAfterChanges, type Call, type CallOutcome, dataAnswer } from '../api/call.ts'
import { textField } from '../api/fields.ts'
import { generateServiceTokenText } from '../model/token.ts'
import { createCeremonyHandlers, submitShareFields } from './attempt.ts'
import { unmaskToken } from './encode.ts'
import { revokeOperationToken, storeOperationToken } from './generated-token.ts'
import { batchTokenNotRevocableError, invalidMaskedTokenError } from './refusals.ts'
import { notifyAttemptWatcher } from './watch.ts'

export const operationTokenShareFields = {
  ...submitShareFields,
  nonce: textField('The nonce of the attempt', { secret: true, required: true }),
}

/** The handlers of sys/replication/dr/secondary/generate-operation-token, which create a token for operating this DR secondary. */
export const operationTokenCeremony = createCeremonyHandlers({
  purpose: 'operation',
  notify: notifyAttemptWatcher,
  make: call => {
    const token = generateServiceTokenText(call.ports.entropy.bytes)
    return { text: token.reveal(), changes: [storeOperationToken(token, call.cluster.record, call.now)] }
  },
})

/** Handles POST sys/replication/dr/secondary/operation-token/delete: revokes the token in the body. */
export function deleteOperationToken({ operator }: Call): CallOutcome {
  if (operator !== 'generated') throw batchTokenNotRevocableError()
  return answerAfterChanges([revokeOperationToken()])
}

export const decodeTokenFields = {
  encoded_token: textField('Masked token, as the last share was answered', { secret: true, required: true }),
  otp: textField('One-time password of the attempt', { secret: true, required: true }),
}

/** Handles POST sys/decode-token. The result depends on the parameters only. */
export function decodeMaskedToken({
  parameters: { encoded_token = '', otp = '' },
}: Call<typeof decodeTokenFields>): CallOutcome {
  const token = unmaskToken(encoded_token, otp)
  if (token === undefined) throw invalidMaskedTokenError()
  return answer(dataAnswer({ token }))
}
