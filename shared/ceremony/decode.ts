import { answer, type Call, data, type Outcome } from '../api/call.ts'
import { text } from '../api/fields.ts'
import { unmasked } from './encode.ts'
import { maskUnusable } from './refusals.ts'

export const decodeFields = {
  encoded_token: text('Masked token, as the last share was answered', { secret: true, required: true }),
  otp: text('One-time password of the attempt', { secret: true, required: true }),
}

/** POST sys/decode-token: depends on nothing but what it is given. */
export function decodeToken({ given: { encoded_token = '', otp = '' } }: Call<typeof decodeFields>): Outcome {
  const token = unmasked(encoded_token, otp)
  if (token === undefined) throw maskUnusable()
  return answer(data({ token }))
}
