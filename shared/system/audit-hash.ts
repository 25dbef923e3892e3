import { answer, type Call, data, type Outcome } from '../api/call.ts'
import { text } from '../api/fields.ts'

export const auditHashFields = { input: text('The value to look for', { secret: true, required: true }) }

/** POST sys/audit-hash/:method_path: how a value would appear in the audit log. There is one log, whatever the path. */
export const auditHash = async (call: Call<typeof auditHashFields>): Promise<Outcome> =>
  answer(data({ hash: await call.ports.cipher.hmac(call.given.input ?? '') }))
